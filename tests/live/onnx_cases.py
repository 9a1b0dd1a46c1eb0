# SPDX-License-Identifier: MIT
"""The operators of ONNX, as onnxruntime and as the reference evaluator of onnx compute them."""

import functools

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import draws
from cases import FLOAT8, INTEGERS, numpy_type

PROTO = {"float32": "FLOAT", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "float64": "DOUBLE",
         "float8_e4m3fn": "FLOAT8E4M3FN", "float8_e4m3fnuz": "FLOAT8E4M3FNUZ", "float8_e5m2": "FLOAT8E5M2",
         "float8_e5m2fnuz": "FLOAT8E5M2FNUZ", "float8_e8m0fnu": "FLOAT8E8M0", "float4_e2m1fn": "FLOAT4E2M1",
         **{name: name.upper() for name in INTEGERS}}
PROTO = {name: getattr(TensorProto, value) for name, value in PROTO.items()}

# What the Python interface of onnxruntime takes and gives; other types are cast inside the graph, from and to these.
PLAIN = {"float32", "float16", "float64", "int8", "uint8", "int16", "uint16", "int32"}


def carrier(dtype):
    """The plain type that holds every value of a type."""
    return dtype if dtype in PLAIN else "int32" if dtype in INTEGERS else "float32"


def session_options():
    """One thread, and the operators as they are written."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


class Model:
    """One node as a model of either peer; called with arrays, returns arrays of the types asked for."""

    def __init__(self, peer, op, opset, inputs, outputs, attributes):
        self.peer, self.inputs, self.outputs = peer, inputs, outputs
        outside = carrier if peer == "onnxruntime" else (lambda dtype: dtype)
        nodes, node_inputs, node_outputs = [], [], []
        for i, dtype in enumerate(inputs):
            node_inputs.append(f"in{i}")
            if outside(dtype) != dtype:
                keep = {"saturate": 0} if dtype in FLOAT8 else {}
                nodes.append(helper.make_node("Cast", [f"in{i}"], [f"cast_in{i}"], to=PROTO[dtype], **keep))
                node_inputs[-1] = f"cast_in{i}"
        casts_back = []
        for i, dtype in enumerate(outputs):
            node_outputs.append(f"out{i}")
            if outside(dtype) != dtype:
                casts_back.append(helper.make_node("Cast", [f"raw_out{i}"], [f"out{i}"], to=PROTO[outside(dtype)]))
                node_outputs[-1] = f"raw_out{i}"
        nodes += [helper.make_node(op, node_inputs, node_outputs, **dict(attributes))] + casts_back
        graph = helper.make_graph(
            nodes, "case",
            [helper.make_tensor_value_info(f"in{i}", PROTO[outside(d)], None) for i, d in enumerate(inputs)],
            [helper.make_tensor_value_info(f"out{i}", PROTO[outside(d)], None) for i, d in enumerate(outputs)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        if peer == "onnxruntime":
            self.session = onnxruntime.InferenceSession(
                model.SerializeToString(), session_options(), providers=["CPUExecutionProvider"])
        else:
            self.session = ReferenceEvaluator(model)

    def __call__(self, *arrays):
        hold = carrier if self.peer == "onnxruntime" else (lambda dtype: dtype)
        feeds = {f"in{i}": np.asarray(a).astype(numpy_type(hold(d)))
                 for i, (a, d) in enumerate(zip(arrays, self.inputs))}
        with np.errstate(all="ignore"):
            return [np.asarray(y).astype(numpy_type(d)) for y, d in zip(self.session.run(None, feeds), self.outputs)]


@functools.lru_cache(maxsize=None)
def model(peer, op, opset, inputs, outputs, attributes=()):
    """The model of these types and attributes, built once; None where the peer has no such kernel."""
    try:
        return Model(peer, op, opset, inputs, outputs, attributes)
    except Exception as problem:  # each binding has its own exceptions
        if "NOT_IMPLEMENTED" in str(problem) or "InsertedPrecisionFreeCast" in str(problem):
            return None
        raise


def granularity(rng, shape, blocked):
    """Attributes, the shape of the scales and the index that spreads them over a tensor of that shape."""
    kind = draws.choose(rng, ["tensor", "axis", "block"] if blocked else ["tensor", "axis"])
    axis = int(rng.integers(len(shape)))
    every = np.indices(shape, sparse=True)
    if kind == "tensor" or 0 in shape:
        return {}, (), ()
    if kind == "axis":
        return {"axis": axis}, (shape[axis],), (every[axis],)
    size = int(rng.integers(1, shape[axis] + 1))
    blocks = -(-shape[axis] // size)
    size = -(-shape[axis] // blocks)  # ONNX wants the smallest size that gives as many blocks
    scale_shape = tuple(blocks if a == axis else n for a, n in enumerate(shape))
    if scale_shape == (1,):  # one block is the tensor, and onnxruntime wants it called so
        return {}, (), ()
    index = tuple(e // size if a == axis else e for a, e in enumerate(every))
    return {"axis": axis, "block_size": size}, scale_shape, index


# The types that each opset added to QuantizeLinear and DequantizeLinear.
TYPES_SINCE = [(19, ["int8", "uint8", *FLOAT8]), (21, ["int4", "uint4", "int16", "uint16"]),
               (23, ["float4_e2m1fn"]), (25, ["int2", "uint2"])]


def opset_and_type(rng, extra=()):
    opset = draws.choose(rng, [19, 21, 23, 25])
    types = [t for since, names in TYPES_SINCE if since <= opset for t in names]
    return opset, draws.choose(rng, types + list(extra))


def zero_points(rng, dtype, shape):
    """Zero points over the whole range, a third of them at one of its ends; zeros for floats."""
    if dtype not in INTEGERS:
        return np.zeros(shape, numpy_type(dtype))
    low, high = INTEGERS[dtype]
    z = rng.integers(low, high + 1, shape)
    return np.where(rng.random(shape) < 0.33, rng.choice([low, high], shape), z)


def divides_in(peer, opset, x_type, asked):
    """The type that QuantizeLinear divides in: onnxruntime takes float32 for float16 before opset 23."""
    if asked:
        return asked
    return "float32" if peer == "onnxruntime" and opset < 23 else x_type


def quantize_linear(rng, writer, peer):
    opset, dtype = opset_and_type(rng)
    integer = dtype in INTEGERS
    x_type = "float16" if integer and rng.random() < 0.25 else "float32"
    shape = draws.shape(rng)
    attributes, scale_shape, index = granularity(rng, shape, opset >= 21)
    scale_label, scale = draws.scales(rng, scale_shape)
    if x_type == "float16":
        scale_label, scale = "usual", (10.0 ** rng.uniform(-4, 2, scale_shape)).astype(np.float16)
    span = INTEGERS[dtype][1] - INTEGERS[dtype][0] if integer else 2 ** int(rng.integers(2, 18))
    step = np.broadcast_to(scale[index] if index else scale, shape).astype(np.float32)
    label, x = draws.values(rng, step, span)
    if peer == "onnxruntime" and rng.random() < 0.1:
        what = draws.choose(rng, ["infinite", "NaN"])
        label, x = f"{label}, {what}", draws.with_nonfinite(rng, x, [np.nan] if what == "NaN" else [np.inf, -np.inf])
    with np.errstate(all="ignore"):
        x = x.astype(x_type)
        if peer == "onnx":  # its codes are undefined where a quotient does not fit int32
            fits = np.abs(x.astype(np.float64) / step) < (2**31 - 2**17 if x_type == "float32" else 60000)
            x = np.where(fits & np.isfinite(x), x, x.dtype.type(0))

    extra, given = {}, {}
    if dtype in FLOAT8 and rng.random() < 0.5:
        extra["saturate"] = int(rng.integers(2))
    asked = "float32" if opset >= 23 and rng.random() < 0.3 else None
    with_zero = not (opset >= 21 and rng.random() < 0.2)
    node = {**attributes, **extra}
    if asked:
        node["precision"] = PROTO[asked]
    if not with_zero:
        node["output_dtype"], extra["output_dtype"] = PROTO[dtype], dtype
    division = divides_in(peer, opset, x_type, asked)
    if division != x_type:
        given["precision"] = division
    inputs = [("x", x, x_type), ("y_scale", scale, x_type)]
    if with_zero:
        inputs.append(("y_zero_point", zero_points(rng, dtype, scale_shape), dtype))
    run = model(peer, "QuantizeLinear", opset, tuple(t for _, _, t in inputs), (dtype,), tuple(node.items()))
    if run is None:
        return False
    (y,) = run(*(a for _, a, _ in inputs))
    writer.add("QuantizeLinear", f"{label}; scale {scale_label}; {x_type} to {dtype}; opset {opset}", inputs,
               [("y", y, dtype)], {**attributes, **extra, **given})


def dequantize_linear(rng, writer, peer):
    opset, dtype = opset_and_type(rng, ["int32"])
    shape = draws.shape(rng)
    attributes, scale_shape, index = granularity(rng, shape, opset >= 21)
    scale_type = draws.choose(rng, ["float32", "float16"])
    scale_label, scale = draws.scales(rng, scale_shape)
    if scale_type == "float16":
        scale_label, scale = "usual", (10.0 ** rng.uniform(-6, 4, scale_shape)).astype(np.float16)
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        codes = rng.integers(low, high + 1, shape)
        codes = np.where(rng.random(shape) < 0.1, rng.choice([low, high], shape), codes)
    else:
        bits = 4 if dtype == "float4_e2m1fn" else 8
        codes = rng.integers(0, 2**bits, shape).astype(np.uint8).view(numpy_type(dtype))
    inputs = [("x", codes, dtype), ("x_scale", scale, scale_type)]
    if dtype in INTEGERS and dtype != "int32" and rng.random() < 0.8:
        inputs.append(("x_zero_point", zero_points(rng, dtype, scale_shape), dtype))
    y_type, extra, node = scale_type, {}, dict(attributes)
    if opset >= 23 and rng.random() < 0.4:
        y_type = draws.choose(rng, ["float32", "float16"])
        extra["output_dtype"], node["output_dtype"] = y_type, PROTO[y_type]
    run = model(peer, "DequantizeLinear", opset, tuple(t for _, _, t in inputs), (y_type,), tuple(node.items()))
    if run is None:
        return False
    (y,) = run(*(a for _, a, _ in inputs))
    writer.add("DequantizeLinear", f"scale {scale_label}; {dtype} to {y_type}, scale {scale_type}; opset {opset}",
               inputs, [("y", y, y_type)], {**attributes, **extra})


def dynamic_quantize_linear(rng, writer, peer):
    shape = draws.shape(rng)
    if peer == "onnx" and 0 in shape:  # the reference has no range of nothing
        return False
    label, x = draws.ranges(rng, shape)
    run = model(peer, "DynamicQuantizeLinear", 11, ("float32",), ("uint8", "float32", "uint8"))
    y, scale, zero = run(x)
    if not 0 < scale < np.inf:
        label += f", the peer's scale is {scale}"
    writer.add("DynamicQuantizeLinear", label, [("x", x, "float32")],
               [("y", y, "uint8"), ("y_scale", scale, "float32"), ("y_zero_point", zero, "uint8")])


CAST_FLOATS = ["float16", "bfloat16", *FLOAT8]


def cast(rng, writer, peer):
    """Between floats, and from integers to floats. Casts to integers are left out: ONNX leaves their overflow open."""
    opset = draws.choose(rng, [19, 21, 23, 25])
    floats = CAST_FLOATS + ["float4_e2m1fn"] * (opset >= 23) + ["float8_e8m0fnu"] * (opset >= 25)
    integers = ["int8", "uint8"] + ["int4", "uint4"] * (opset >= 21) + ["int2", "uint2"] * (opset >= 25)
    to = draws.choose(rng, floats + ["float32"])
    source = "float32" if to != "float32" and rng.random() < 0.7 else draws.choose(rng, floats[:-1] + integers)
    if source == to:
        return False
    shape = draws.shape(rng)
    label, extra = f"{source} to {to}", {}
    if source in INTEGERS:
        x = rng.integers(INTEGERS[source][0], INTEGERS[source][1] + 1, shape)
    elif source == "float32":
        how, x = draws.around_codes(rng, shape, numpy_type(to))
        label = f"{how}; {label}"
    else:
        bits = 4 if source == "float4_e2m1fn" else numpy_type(source).itemsize * 8
        x = rng.integers(0, 2**bits, shape).astype(f"uint{max(bits, 8)}").view(numpy_type(source))
    if to in FLOAT8 or to == "float8_e8m0fnu":
        extra["saturate"] = int(rng.integers(2)) if to in FLOAT8 else 1
    if to == "float8_e8m0fnu":
        extra["round_mode"] = draws.choose(rng, ["up", "down", "nearest"])
    node = {"to": PROTO[to], **extra}
    run = model(peer, "Cast", opset, (source,), (to,), tuple(node.items()))
    if run is None:
        return False
    (y,) = run(x)
    writer.add("Cast", f"{label}; {extra}", [("input", x, source)], [("output", y, to)], {"to": to, **extra})


@functools.lru_cache(maxsize=None)
def matmul_nbits_session(bits, block, outputs, inputs, has_zero_points):
    """MatMulNBits, an operator of onnxruntime's own domain."""
    names = ["A", "B", "scales"] + ["zero_points"] * has_zero_points
    types = ["float32", "uint8", "float32", "uint8"]
    node = helper.make_node("MatMulNBits", names, ["Y"], domain="com.microsoft", K=inputs, N=outputs, bits=bits,
                            block_size=block)
    graph = helper.make_graph([node], "case",
                              [helper.make_tensor_value_info(n, PROTO[t], None) for n, t in zip(names, types)],
                              [helper.make_tensor_value_info("Y", PROTO["float32"], None)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return onnxruntime.InferenceSession(data, session_options(), providers=["CPUExecutionProvider"])


def packed(codes, bits, bytes_each):
    """Rows of codes, first code in the low bits, filled with zeros."""
    fields = (codes[..., None] >> np.arange(bits)) & 1
    rows = np.packbits(fields.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, bytes_each - rows.shape[-1])])


def matmul_nbits(rng, writer):
    """The weight as onnxruntime reads it: its product with the identity."""
    bits, block = draws.choose(rng, [2, 4, 8]), draws.choose(rng, [16, 32, 64])
    inputs, outputs = int(rng.integers(1, 70)), int(rng.integers(1, 6))
    blocks = -(-inputs // block)
    b = packed(rng.integers(0, 2**bits, (outputs, inputs)), bits, blocks * block * bits // 8)
    b = b.reshape(outputs, blocks, -1)
    label, scale = draws.scales(rng, (outputs, blocks))
    a = np.eye(inputs, dtype=np.float32)
    tensors = [("A", a, "float32"), ("B", b, "uint8"), ("scales", scale, "float32")]
    if rng.random() < 0.5:
        zero = packed(rng.integers(0, 2**bits, (outputs, blocks)), bits, -(-blocks * bits // 8))
        tensors.append(("zero_points", zero, "uint8"))
    run = matmul_nbits_session(bits, block, outputs, inputs, len(tensors) == 4)
    (y,) = run.run(None, {name: array for name, array, _ in tensors})
    if not np.isfinite(y).all():  # an infinite weight times the zeros of the identity
        return False
    writer.add("MatMulNBits", f"scale {label}; {bits} bits in blocks of {block}", tensors,
               [("dequantized_nk", y.T, "float32"), ("Y", y, "float32")],
               {"bits": bits, "block_size": block, "K": inputs, "N": outputs})


OPERATORS = [(f"{peer}/{name}", functools.partial(draw, peer=peer), 1.0)
             for peer in ("onnxruntime", "onnx")
             for name, draw in [("QuantizeLinear", quantize_linear), ("DequantizeLinear", dequantize_linear),
                                ("DynamicQuantizeLinear", dynamic_quantize_linear), ("Cast", cast)]]
OPERATORS.append(("onnxruntime/MatMulNBits", matmul_nbits, 1.0))
