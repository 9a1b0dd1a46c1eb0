#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes model.safetensors of ../digits/digits_mlp.safetensors: its first two layers as GPTQ stores them.

4 bits, groups of 32 inputs, version 1 (checkpoint_format "gptq"), symmetric scales. Weights are rounded to nearest. As with
desc_act, groups hold inputs of like importance, here by the mean square of their weights, so that g_idx is in no order.
"""
import json
import os
import struct

GROUP, BITS = 32, 4
FOLDER = os.path.dirname(os.path.abspath(__file__))


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            content = data[8 + size + begin:8 + size + end]
            tensors[name] = (t["shape"], struct.unpack(f"<{len(content) // 4}f", content))
    return tensors


def words(fields):
    """Fields of 4 bits, 8 to a word, the first in the lowest bits."""
    return [sum(f << BITS * i for i, f in enumerate(fields[w:w + 8])) for w in range(0, len(fields), 8)]


def quantized(layer, shape, weight):
    outputs, inputs = shape
    importance = [sum(weight[n * inputs + k] ** 2 for n in range(outputs)) for k in range(inputs)]
    order = sorted(range(inputs), key=lambda k: -importance[k])
    g_idx = [0] * inputs
    for place, k in enumerate(order):
        g_idx[k] = place // GROUP
    groups = (inputs + GROUP - 1) // GROUP
    scales = [[0.0] * outputs for _ in range(groups)]
    for n in range(outputs):
        for k in range(inputs):
            g = g_idx[k]
            scales[g][n] = max(scales[g][n], abs(weight[n * inputs + k]) / 7)
    halves = [struct.unpack("<e", struct.pack("<e", s))[0] or 1.0 for row in scales for s in row]
    scale = lambda k, n: halves[g_idx[k] * outputs + n]
    code = lambda k, n: min(15, max(0, round(weight[n * inputs + k] / scale(k, n)) + 8))
    columns = [words([code(k, n) for k in range(inputs)]) for n in range(outputs)]
    qweight = [columns[n][w] for w in range(inputs // 8) for n in range(outputs)]
    qzeros = words([8 - 1] * outputs) * groups  # version 1 stores zero points less 1
    return {
        layer + ".qweight": ("I32", [inputs // 8, outputs], struct.pack(f"<{len(qweight)}I", *qweight)),
        layer + ".qzeros": ("I32", [groups, outputs // 8], struct.pack(f"<{len(qzeros)}I", *qzeros)),
        layer + ".scales": ("F16", [groups, outputs], struct.pack(f"<{len(halves)}e", *halves)),
        layer + ".g_idx": ("I32", [inputs], struct.pack(f"<{inputs}i", *g_idx)),
    }


def write(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


source = read(os.path.join(FOLDER, "..", "digits", "digits_mlp.safetensors"))
out = {}
for layer in ("fc1", "fc2"):
    out.update(quantized(layer, *source[layer + ".weight"]))
    shape, bias = source[layer + ".bias"]
    out[layer + ".bias"] = ("F32", shape, struct.pack(f"<{len(bias)}f", *bias))
write(os.path.join(FOLDER, "model.safetensors"), out)
config = {"quantization_config": {"quant_method": "gptq", "bits": BITS, "group_size": GROUP, "sym": True, "desc_act": True,
                                  "checkpoint_format": "gptq"}}
with open(os.path.join(FOLDER, "config.json"), "w") as file:
    file.write(json.dumps(config, indent=2) + "\n")
