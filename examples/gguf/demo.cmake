# Files that llama.cpp loads, and the best mix of a size.
set(out ${PROJECT_BINARY_DIR}/demo)
tq_add_demo(gguf COMMAND gguf --quick ${out}/gguf
  TITLE "A language model in GGUF files (examples/gguf):" SHOW "^[|] (type|f32|q8_0|q5_0|iq4_nl)")
if(TARGET tq)
  tq_add_demo(gguf-select COMMAND tq select ${out}/gguf/stories260k-f32.gguf --for llama.cpp --max-bytes 280000
    -o ${out}/gguf/mix.json --overwrite)
  tq_add_demo(gguf-quantize COMMAND tq quantize ${out}/gguf/stories260k-f32.gguf ${out}/gguf/stories260k-mix.gguf
    --config ${out}/gguf/mix.json --overwrite)
endif()
