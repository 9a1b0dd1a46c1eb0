# A short training, and what it wrote as the tool sees it: bit for bit the weights of training.
set(out ${PROJECT_BINARY_DIR}/demo)
tq_add_demo(qat_digits qat_digits --quick --out ${out} ${CMAKE_CURRENT_LIST_DIR}/../data/digits)
if(TARGET tq)
  tq_add_demo(qat_digits-inspect tq inspect ${out}/qat_digits.safetensors)
  tq_add_demo(qat_digits-dequantize tq dequantize ${out}/qat_digits.safetensors ${out}/qat_digits_back.safetensors)
  tq_add_demo(qat_digits-compare ${CMAKE_COMMAND} -E compare_files
    ${out}/qat_digits_back.safetensors ${out}/qat_digits_dequantized.safetensors)
endif()
