# cmake -DPROGRAM=<program> -DMPIEXEC=<command> -DNUMPROC=<flag> -DPREFLAGS=<flags> -DWORK=<folder> -P same_bytes.cmake
# PROGRAM <file> writes the same file on 1, 2 and 4 ranks.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
foreach(n IN ITEMS 1 2 4)
  execute_process(COMMAND ${MPIEXEC} ${NUMPROC} ${n} ${PREFLAGS} ${PROGRAM} ${WORK}/${n}.json
    TIMEOUT 50 COMMAND_ERROR_IS_FATAL ANY)
  file(SHA256 ${WORK}/${n}.json hash)
  file(SIZE ${WORK}/${n}.json size)
  message(STATUS "${n} ranks: ${size} bytes, ${hash}")
  if(size LESS 1000)
    message(FATAL_ERROR "${n} ranks: that is too little")
  endif()
  if(n GREATER 1 AND NOT hash STREQUAL first)
    message(FATAL_ERROR "${n} ranks: not the bytes of one rank")
  endif()
  set(first ${hash})
endforeach()
