# Makes libraries.safetensors: a matrix of floats, and what libraries of engines make of it.
# pip install compressed-tensors==0.20.1 bitsandbytes==0.50.2 safetensors==0.8.0 torch==2.15.0
import sys

import bitsandbytes.functional as F
import torch
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.quantization import QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import save_file

FORMATS = {
    "int4": ("pack-quantized", dict(num_bits=4, type="int", strategy="group", group_size=64)),
    "int4-channel": ("pack-quantized", dict(num_bits=4, type="int", strategy="channel")),
    "int8": ("pack-quantized", dict(num_bits=8, type="int", strategy="group", group_size=64)),
    "w8a8": ("int-quantized", dict(num_bits=8, type="int", strategy="channel")),
    "fp8": ("float-quantized", dict(num_bits=8, type="float", strategy="channel")),
    "fp8-block": ("float-quantized", dict(num_bits=8, type="float", strategy="block",
                                          block_structure=[128, 128])),
    "nvfp4": ("nvfp4-pack-quantized", dict(num_bits=4, type="float", strategy="tensor_group",
                                           group_size=16, scale_dtype="torch.float8_e4m3fn")),
    "mxfp4": ("mxfp4-pack-quantized", dict(num_bits=4, type="float", strategy="group",
                                           group_size=32, scale_dtype="torch.uint8")),
    "mxfp8": ("mxfp8-quantized", dict(num_bits=8, type="float", strategy="group", group_size=32,
                                      scale_dtype="torch.uint8")),
}

torch.manual_seed(int(sys.argv[2]) if len(sys.argv) > 2 else 6)
x = (torch.randn(32, 256) * 0.02).bfloat16().float()
x[5] *= 64
out = {"x": x.bfloat16()}
for name, (format, weights) in FORMATS.items():
    scheme = QuantizationScheme(targets=["Linear"], format=format,
                                weights=dict(weights, symmetric=True, dynamic=False))
    args, state = scheme.weights, {"weight": x}
    if name == "fp8-block":
        blocks = x.reshape(1, 32, 2, 128)
        low, high = blocks.amin((1, 3)), blocks.amax((1, 3))
    else:
        groups = x.reshape(32, -1, args.group_size or 256)
        low, high = groups.amin(-1), groups.amax(-1)
    if name == "nvfp4":
        state["weight_global_scale"] = generate_gparam(x.min().reshape(1), x.max().reshape(1))
        scale, _ = calculate_qparams(low, high, args, global_scale=state["weight_global_scale"])
    else:
        scale, _ = calculate_qparams(low, high, args)
    if name.startswith(("int", "w8", "fp8")) and name != "fp8-block":
        scale = scale.bfloat16().float()  # the type of the model
    state["weight_scale"] = scale
    made = BaseCompressor.get_value_from_registry(format).compress(state, scheme)
    for key, value in made.items():
        if value.dtype == torch.float32 and key == "weight_scale" and name != "fp8-block":
            value = value.bfloat16()
        out[f"{name}.{key}"] = value.contiguous()
for name in ("nf4", "fp4"):
    codes, state = F.quantize_4bit(x.bfloat16(), blocksize=64, quant_type=name)
    out[f"{name}.weight"] = codes
    for key, value in state.as_dict(packed=True).items():
        out[f"{name}.weight.{key}"] = value.contiguous()
codes, absmax, _ = F.int8_vectorwise_quant(x.half())
out["int8-rows.weight"], out["int8-rows.SCB"] = codes, absmax
out["int8-rows.weight_format"] = torch.tensor(0, dtype=torch.uint8)
save_file(out, sys.argv[1], metadata={"format": "pt"})
for key, value in out.items():
    print(key, value.dtype, tuple(value.shape))
