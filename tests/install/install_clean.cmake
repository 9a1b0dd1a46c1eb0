# cmake -P install_clean.cmake <build tree> <prefix>: installs into an empty prefix.
file(REMOVE_RECURSE ${CMAKE_ARGV4})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${CMAKE_ARGV3} --prefix ${CMAKE_ARGV4} COMMAND_ERROR_IS_FATAL ANY)
