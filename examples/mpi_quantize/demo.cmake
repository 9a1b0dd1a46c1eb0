tq_ranks(ranks 2)
if(ranks)
  tq_add_demo(mpi_quantize COMMAND ${CMAKE_COMMAND} -E env ${tq_mpi_environment} ${ranks} mpi_quantize
    ${CMAKE_CURRENT_LIST_DIR}/../data/digits/digits_cnn.safetensors
    ${PROJECT_BINARY_DIR}/demo/mpi_quantize/model.safetensors.index.json --type int8 --overwrite)
endif()
