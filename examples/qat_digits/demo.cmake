# A short training, and what it wrote as the tool sees it: bit for bit the weights of training.
set(out ${PROJECT_BINARY_DIR}/demo)
tq_add_demo(qat_digits COMMAND qat_digits --quick --out ${out} ${CMAKE_CURRENT_LIST_DIR}/../data/digits
  TITLE "The same networks trained on with quantization in place (examples/qat_digits):"
  SHOW "^network|^(mlp|cnn) +int[24] +uint4 +learned")
if(TARGET tq)
  tq_add_demo(qat_digits-inspect COMMAND tq inspect ${out}/qat_digits.safetensors)
  tq_add_demo(qat_digits-dequantize COMMAND tq dequantize ${out}/qat_digits.safetensors ${out}/qat_digits_back.safetensors)
  tq_add_demo(qat_digits-compare COMMAND ${CMAKE_COMMAND} -E compare_files
    ${out}/qat_digits_back.safetensors ${out}/qat_digits_dequantized.safetensors)
endif()
