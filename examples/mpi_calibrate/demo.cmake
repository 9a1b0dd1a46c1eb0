tq_ranks(ranks 2)
if(ranks)
  tq_add_demo(mpi_calibrate COMMAND ${CMAKE_COMMAND} -E env ${tq_mpi_environment} ${ranks} mpi_calibrate
    ${PROJECT_BINARY_DIR}/demo/mpi_calibrate.json)
endif()
