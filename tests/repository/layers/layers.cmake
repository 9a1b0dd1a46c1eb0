# The layer rule (CONTRIBUTING.md), and proof that breaking it is noticed: each tree under layers/bad breaks it once.
set(check ${CMAKE_CURRENT_SOURCE_DIR}/repository/layers/check.cmake)
add_test(NAME repository/layers COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/include/tq -P ${check})
set(bad_trees
  "core_to_arch|core/bad\\.hpp: core may not include arch"
  "arch_to_error|arch/bad\\.hpp: arch may not include error"
  "kernels_to_core|kernels/bad\\.hpp: kernels may not include core"
  "numeric_to_umbrella|numeric/bad\\.hpp: nothing may include tq\\.hpp"
  "xsimd_outside_arch|ops/bad\\.hpp: <xsimd/xsimd\\.hpp> belongs in arch only"
  "json_outside_json|model/bad\\.hpp: <nlohmann/json\\.hpp> belongs in containers json checkpoints store interop only"
  "intrinsics_outside_arch|kernels/bad\\.hpp: <immintrin\\.h> belongs in arch only"
  "version_test|arch/narrow\\.hpp: only arch/batch\\.hpp may look at the version of xsimd"
  "umbrella_to_json|tq\\.hpp reaches json/bad\\.hpp"
  "umbrella_lacks|linear\\.hpp lacks <tq/linear/bad\\.hpp>"
  "umbrella_to_ptq|tq\\.hpp reaches ptq/bad\\.hpp"
  "unknown_layer|plumbing/bad\\.hpp: unknown layer plumbing"
  "unknown_library|core/bad\\.hpp: <boost/any\\.hpp> is not a dependency"
  "missing_header|core/bad\\.hpp: <tq/core/none\\.hpp> does not exist"
  "std_before_config|core/bad\\.hpp: the first include must lead to"
  "quoted|core/bad\\.hpp: write #include <tq/")
foreach(case IN LISTS bad_trees)
  string(REGEX MATCH "^[^|]+" name "${case}")
  string(LENGTH "${name}|" length)
  string(SUBSTRING "${case}" ${length} -1 expected)
  add_test(NAME repository/layers/${name} COMMAND ${CMAKE_COMMAND}
    -DROOT=${CMAKE_CURRENT_SOURCE_DIR}/repository/layers/bad/${name} "-DEXPECT=${expected}" -P ${check})
  set_tests_properties(repository/layers/${name} PROPERTIES LABELS repository)
endforeach()
set_tests_properties(repository/layers PROPERTIES LABELS repository)
