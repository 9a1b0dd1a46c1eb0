# The tool on real models: what a file holds, quantized, read back, and what that cost.
set(data ${CMAKE_CURRENT_LIST_DIR}/../data)
set(out ${PROJECT_BINARY_DIR}/demo)

set(digits ${data}/digits/digits_cnn.safetensors)
tq_add_demo(tq-inspect COMMAND tq inspect ${digits})
tq_add_demo(tq-int8 PART tool COMMAND tq quantize ${digits} ${out}/digits_int8.safetensors
  --type int8 --granularity per_channel --axis 0
  TITLE "tq quantize: a trained network in int8, with a scale per output channel:" SHOW ".")
tq_add_demo(tq-int8-inspect COMMAND tq inspect ${out}/digits_int8.safetensors)
tq_add_demo(tq-int4 COMMAND tq quantize ${digits} ${out}/digits_int4.safetensors
  --type int4 --granularity per_group --group-size 32 --include "^fc")
tq_add_demo(tq-int4-dequantize COMMAND tq dequantize ${out}/digits_int4.safetensors ${out}/digits_int4_back.safetensors --overwrite)
tq_add_demo(tq-int4-report COMMAND tq report ${digits} ${out}/digits_int4.safetensors -o ${out}/digits_int4.html --overwrite)
tq_add_demo(tq-int4-compare COMMAND tq compare ${digits} ${out}/digits_int4_back.safetensors)
tq_add_demo(tq-formats COMMAND tq formats)
tq_add_demo(tq-mxfp4 COMMAND tq quantize ${digits} ${out}/digits_mxfp4.safetensors --type mxfp4)
tq_add_demo(tq-mxfp4-inspect COMMAND tq inspect ${out}/digits_mxfp4.safetensors)
tq_add_demo(tq-sweep COMMAND tq sweep ${digits})
tq_add_demo(tq-sensitivity COMMAND tq sensitivity ${digits} --types int8,int6,int4,uint4_g32)
tq_add_demo(tq-select COMMAND tq select ${digits} --max-bits 5 -o ${out}/digits_schemes.json --overwrite
  TITLE "tq select: the schemes with the least error in 5 bits a weight:" SHOW "^tensor|^conv|^fc|^4 tensors|^Proven")

set(silero ${data}/silero_vad/silero_vad_16k.safetensors)
tq_add_demo(tq-silero COMMAND tq quantize ${silero} ${out}/silero_int8.safetensors
  --type int8 --granularity per_channel --axis 0
  TITLE "The speech detector silero_vad, quantized by the same command:" SHOW "tensors quantized")
tq_add_demo(tq-silero-dequantize COMMAND tq dequantize ${out}/silero_int8.safetensors ${out}/silero_back.safetensors --overwrite)
tq_add_demo(tq-silero-compare COMMAND tq compare ${silero} ${out}/silero_back.safetensors)

# Weights in place of activations: what was observed, in two parts and together, and the page to look at.
set(states ${out}/calibrate)
file(MAKE_DIRECTORY ${states})
tq_add_demo(tq-calibrate COMMAND tq calibrate ${digits} -o ${states}/digits.json --state ${states}/digits_state.json
  --calibrator mse --type int8 --overwrite)
tq_add_demo(tq-calibrate-more COMMAND tq calibrate ${silero} --observer histogram --state ${states}/silero_state.json --overwrite)
tq_add_demo(tq-merge-state COMMAND tq merge-state ${states}/digits_state.json ${states}/silero_state.json
  -o ${states}/state.json --overwrite)
tq_add_demo(tq-calibrate-again COMMAND tq calibrate --from-state ${states}/state.json -o ${states}/int4.json
  --calibrator entropy --type int4 --overwrite)
tq_add_demo(tq-plot COMMAND tq plot ${states}/state.json -o ${states}/state.html --type int4 --overwrite)
