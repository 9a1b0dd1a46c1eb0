# Sentences of comments name their subject, and proof that a comment line without a subject is noticed. `limit` is the number of
# lines that may lack one.
set(limit 0)
set(check ${CMAKE_CURRENT_SOURCE_DIR}/repository/prose/check.cmake)
add_test(NAME repository/prose COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIMIT=${limit} -P ${check})
set(bad ${CMAKE_CURRENT_BINARY_DIR}/prose)
file(WRITE ${bad}/include/tq/bad.hpp "// What a comment should not begin with.\nint x;  // Of x\n  ///< None\n// Of; x\n// Offsets\n")
add_test(NAME repository/prose/noticed COMMAND ${CMAKE_COMMAND} -DROOT=${bad} -DLIMIT=1 -P ${check})
set_tests_properties(repository/prose repository/prose/noticed PROPERTIES LABELS repository)
set_tests_properties(repository/prose/noticed PROPERTIES PASS_REGULAR_EXPRESSION "got[ \n]+3:.*include/tq/bad\\.hpp: 3")
