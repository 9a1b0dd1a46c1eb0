# A file that the library writes is one that the tool reads.
set(out ${PROJECT_BINARY_DIR}/demo)
tq_add_demo(saved_weights COMMAND saved_weights ${out}/saved_weights.safetensors)
if(TARGET tq)
  tq_add_demo(saved_weights-inspect COMMAND tq inspect ${out}/saved_weights.safetensors)
endif()
