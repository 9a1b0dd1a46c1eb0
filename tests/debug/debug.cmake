# The checks of libstdc++ and those of -fsanitize=undefined at once, which make fewer things constant expressions in g++ 12.
# Building this is the test; the preset `debug` has all headers and the unit tests of the lower folders so.
add_library(tq-test-debug OBJECT debug/code_books.cpp)
target_compile_definitions(tq-test-debug PRIVATE _GLIBCXX_DEBUG _GLIBCXX_CONCEPT_CHECKS)
target_compile_options(tq-test-debug PRIVATE ${quick_to_compile} -fsanitize=undefined)
target_link_libraries(tq-test-debug PRIVATE tq::core tq_warnings)
