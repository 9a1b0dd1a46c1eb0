# cmake -DPROGRAM=<tq-conformance> -DDATA=<a data folder whose cases pass> -DWORK=<folder> -P program.cmake
# What others rely on in tq-conformance: arguments, exit status, last line, and that nothing passes by accident.
cmake_minimum_required(VERSION 3.22)

function(expect status out_pattern err_pattern)
  execute_process(COMMAND ${PROGRAM} ${ARGN} RESULT_VARIABLE got OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT got STREQUAL status OR NOT out MATCHES "${out_pattern}" OR NOT err MATCHES "${err_pattern}")
    message(SEND_ERROR "tq-conformance ${ARGN}\nexpected exit status ${status}, stdout ~ ${out_pattern}, "
      "stderr ~ ${err_pattern}\ngot exit status ${got}\n${out}\n${err}")
  endif()
endfunction()

# One case over the data of quantizelinear: x, scale and zero point as there, `changes` in the manifest.
function(data_folder name op dtype y tolerance)
  file(REMOVE_RECURSE ${WORK}/${name})
  file(COPY ${DATA}/onnx/quantizelinear DESTINATION ${WORK}/${name}/onnx)
  file(WRITE ${WORK}/${name}/onnx/manifest.json "{\"group\": \"g\", \"cases\": [{\"id\": \"c\", \"op\": \"${op}\",
    \"inputs\": [
      {\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [6], \"file\": \"onnx/quantizelinear/x.npy\"},
      {\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [], \"file\": \"onnx/quantizelinear/y_scale.npy\"},
      {\"name\": \"z\", \"dtype\": \"${dtype}\", \"shape\": [], \"file\": \"onnx/quantizelinear/y_zero_point.npy\"}],
    \"outputs\": [{\"name\": \"y\", \"dtype\": \"${dtype}\", \"shape\": [6], \"file\": \"${y}\"}],
    \"tolerance\": {\"kind\": \"${tolerance}\"}}]}")
endfunction()

set(y onnx/quantizelinear/y.npy)
set(usage "usage: tq-conformance")

expect(0 "passed, 0 failed, 0 skipped\n$" "^$" ${DATA})
expect(0 "passed, 0 failed, 0 skipped\n$" "^$" --op QuantizeLinear ${DATA} --group onnx)
expect(0 "\"failed\": 0" "passed, 0 failed, 0 skipped\n$" ${DATA} --json)

expect(2 "^$" "${usage}")
expect(2 "^$" "${usage}" ${DATA} --group)
expect(2 "^$" "${usage}" ${DATA} --unknown)
expect(2 "^$" "${usage}" ${DATA} ${DATA})
expect(2 "^$" "no such cases" ${DATA} --op NoSuchOperator)
expect(2 "^$" "no such cases" ${DATA} --group no_such_group)
expect(2 "^$" "expected a folder" ${WORK}/missing)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/empty/group ${WORK}/broken/group)
expect(2 "^$" "manifest.json, got none" ${WORK}/empty)
file(WRITE ${WORK}/broken/group/manifest.json "{\"cases\": [{}]}")
expect(2 "^$" "not a manifest" ${WORK}/broken)

data_folder(same QuantizeLinear uint8 ${y} exact)
expect(0 "\n1 passed, 0 failed, 0 skipped\n$" "^$" ${WORK}/same)
data_folder(not_built NoSuchOperator uint8 ${y} exact)
expect(0 "NoSuchOperator +0 +0 +1\n    1 skipped: operator NoSuchOperator is not built yet\n0 passed, 0 failed, 1 skipped\n$"
  "^$" ${WORK}/not_built --verbose)
data_folder(no_type QuantizeLinear float7 ${y} exact)
expect(0 "0 passed, 0 failed, 1 skipped\n$" "^$" ${WORK}/no_type)
data_folder(informational QuantizeLinear uint8 ${y} informational)
expect(0 "0 passed, 0 failed, 1 skipped\n$" "^$" ${WORK}/informational)

data_folder(no_file QuantizeLinear uint8 onnx/none.npy exact)
expect(1 "^FAIL g/c [(]QuantizeLinear[)].*expected a file.*0 passed, 1 failed, 0 skipped\n$" "^$" ${WORK}/no_file)
data_folder(no_kind QuantizeLinear uint8 ${y} close_enough)
expect(1 "^FAIL g/c.*close_enough.*1 failed" "^$" ${WORK}/no_kind)
data_folder(other_type QuantizeLinear int8 ${y} exact)
expect(1 "^FAIL g/c.*1 failed" "^$" ${WORK}/other_type)

# The codes of another case: six of uint8 as well, so that only their values are wrong.
data_folder(other_values QuantizeLinear uint8 onnx/dynamicquantizelinear/y.npy exact)
file(COPY ${DATA}/onnx/dynamicquantizelinear DESTINATION ${WORK}/other_values/onnx)
expect(1 "^FAIL g/c [(]QuantizeLinear[)]: y: index 0: expected [0-9]+, got 128\n.*\n0 passed, 1 failed, 0 skipped\n$" "^$"
  ${WORK}/other_values)
expect(1 "\"index\": 0" "0 passed, 1 failed, 0 skipped\n$" ${WORK}/other_values --json)
