# SPDX-License-Identifier: MIT
"""Quantization, fake quantization with gradients, observers and casts of PyTorch."""

import functools

import numpy as np
import torch
from torch.ao.quantization import observer as observers

import draws
from cases import INTEGERS

torch.set_num_threads(1)  # small tensors

QUANTIZED = {"int8": torch.qint8, "uint8": torch.quint8, "int32": torch.qint32}
# Code ranges: of torch's quantized types, and of sub-byte and reduced ones for fake quantization and observers.
FAKE_RANGES = [(-8, 7), (-64, 63), (-128, 127), (-127, 127), (0, 15), (0, 127), (0, 255), (-2, 1), (0, 3)]
OBSERVED_RANGES = [(-8, 7), (-64, 63), (-128, 127), (0, 15), (0, 127), (0, 255)]


def operands(rng, low, high, per_channel):
    """x with scales and zero points of a code range; zero points are 0 in ranges without a code for them."""
    shape = draws.shape(rng)
    if 0 in shape and per_channel:
        shape = tuple(max(n, 1) for n in shape)
    axis = int(rng.integers(len(shape)))
    n = (shape[axis],) if per_channel else ()
    scale_label, scale = draws.scales(rng, n)
    zero = rng.integers(low, high + 1, n)
    zero = np.where(rng.random(n) < 0.33, rng.choice([low, high], n), zero)
    far = high - low > 2**24
    if far and rng.random() < 0.5:  # what float32 holds exactly
        far, zero = False, rng.integers(-2**10, 2**10, n)
    if low == -high:
        zero = np.zeros(n, np.int64)
    step = scale[np.indices(shape, sparse=True)[axis]] if per_channel else scale
    kinds = tuple(draws.VALUES)
    if high - low > 2**24 and not far:
        kinds = ("within", "ties", "next to ties", "next to codes")
    label, x = draws.values(rng, np.broadcast_to(step, shape), min(high - low, 2**20), kinds)
    if far:
        label += "; far zero point"
    return f"{label}; scale {scale_label}; {low} to {high}", x, scale, zero, axis


def quantize(rng, writer, per_channel):
    name = draws.choose(rng, list(QUANTIZED))
    low, high = INTEGERS[name]
    label, x, scale, zero, axis = operands(rng, low, high, per_channel)
    attributes = {"quant_min": low, "quant_max": high}
    inputs = [("x", x, "float32")]
    if per_channel:
        q = torch.quantize_per_channel(torch.tensor(x), torch.tensor(scale), torch.tensor(zero), axis, QUANTIZED[name])
        attributes["axis"] = axis
        inputs += [("scale", scale, "float32"), ("zero_point", zero, "int64")]
    else:
        q = torch.quantize_per_tensor(torch.tensor(x), float(scale), int(zero), QUANTIZED[name])
        attributes.update(scale=float(scale), zero_point=int(zero))
    writer.add("quantize_per_channel" if per_channel else "quantize_per_tensor", label, inputs,
               [("q", q.int_repr().numpy(), name), ("dq", q.dequantize().numpy(), "float32")], attributes)


def fake_quantize(rng, writer, per_channel):
    """Values and the gradient of x. Per channel torch converts x / s to int64, so x stays below 2^62 steps."""
    low, high = draws.choose(rng, FAKE_RANGES)
    label, x, scale, zero, axis = operands(rng, low, high, per_channel)
    if per_channel:
        step = scale[np.indices(x.shape, sparse=True)[axis]].astype(np.float64)
        x = np.where(np.abs(x / step) < 2.0**62, x, np.float32(0))
    dy = rng.standard_normal(x.shape).astype(np.float32)
    leaf = torch.tensor(x, requires_grad=True)
    attributes = {"quant_min": low, "quant_max": high}
    inputs = [("x", x, "float32")]
    if per_channel:
        zeros = torch.tensor(zero.astype(np.int32))
        y = torch.fake_quantize_per_channel_affine(leaf, torch.tensor(scale), zeros, axis, low, high)
        attributes["axis"] = axis
        inputs += [("scale", scale, "float32"), ("zero_point", zero, "int32")]
    else:
        y = torch.fake_quantize_per_tensor_affine(leaf, float(scale), int(zero), low, high)
        attributes.update(scale=float(scale), zero_point=int(zero))
    y.backward(torch.tensor(dy))
    writer.add("fake_quantize_per_channel" if per_channel else "fake_quantize_per_tensor", label,
               inputs + [("dy", dy, "float32")],
               [("y", y.detach().numpy(), "float32"), ("dx", leaf.grad.numpy(), "float32")], attributes)


def learnable(rng, writer, per_channel):
    """Gradients of scale and zero point are sums in float32, in an order of torch's: within 2e-4 and of the terms 1e-5."""
    low, high = draws.choose(rng, [r for r in FAKE_RANGES if r[0] != -r[1]])
    shape = tuple(max(n, 1) for n in draws.shape(rng, 2))  # per channel torch takes no vectors
    axis = int(rng.integers(len(shape)))
    n = (shape[axis],) if per_channel else (1,)
    scale = (10.0 ** rng.uniform(-3, 1, n)).astype(np.float32)
    zero = rng.uniform(low, high, n).astype(np.float32)
    step = scale[np.indices(shape, sparse=True)[axis]] if per_channel else scale
    label, x = draws.values(rng, np.broadcast_to(step, shape), high - low, ("within", "next to codes", "gauss", "constant"))
    dy = rng.standard_normal(shape).astype(np.float32)
    factor = draws.choose(rng, [1.0, 1.0 / float(np.sqrt(x.size * high))]) if high > 0 else 1.0
    leaf, s, z = (torch.tensor(v, requires_grad=True) for v in (x, scale, zero))
    if per_channel:
        y = torch._fake_quantize_learnable_per_channel_affine(leaf, s, z, axis, low, high, factor)
    else:
        y = torch._fake_quantize_learnable_per_tensor_affine(leaf, s, z, low, high, factor)
    y.backward(torch.tensor(dy))
    attributes = {"quant_min": low, "quant_max": high, "grad_factor": factor}
    inputs = [("x", x, "float32"), ("dy", dy, "float32")]
    if per_channel:
        attributes["axis"] = axis
        inputs += [("scale", scale, "float32"), ("zero_point", zero, "float32")]
    else:
        attributes.update(scale=float(scale[0]), zero_point=float(zero[0]))
    largest_term = float(np.abs(dy).sum()) * (high - low) * max(1.0, float(scale.max())) * factor
    writer.add("fake_quantize_learnable_per_channel" if per_channel else "fake_quantize_learnable_per_tensor",
               f"{label}; {low} to {high}" + ("; negative zero point" if zero.min() < 0 else ""), inputs,
               [("y", y.detach().numpy(), "float32"), ("dx", leaf.grad.numpy(), "float32"),
                ("dscale", s.grad.numpy(), "float32"), ("dzero_point", z.grad.numpy(), "float32")], attributes,
               {"kind": "rel_abs", "rel": 2e-4, "abs": 1e-6 * largest_term})


def observer(rng, writer, kinds):
    """Batches in, scale and zero point out. An explicit range is one that torch is given, not one it knows by the type."""
    kind, make = draws.choose(rng, kinds)
    low, high = draws.choose(rng, OBSERVED_RANGES)
    symmetric, channels = rng.random() < 0.4, "channel" in kind
    known, reduced = low in (-128, 0) and high in (127, 255), (low, high) in ((-64, 63), (0, 127))
    explicit = not (known and high - low == 255 or reduced) or rng.random() < 0.3
    attributes = {"observer": kind, "qscheme": "symmetric" if symmetric else "affine", "quant_min": low,
                  "quant_max": high, "explicit_range": explicit}
    scheme = getattr(torch, f"per_{'channel' if channels else 'tensor'}_{attributes['qscheme']}")
    options = {"dtype": torch.quint8 if low == 0 else torch.qint8, "qscheme": scheme}
    if explicit:
        options.update(quant_min=low, quant_max=high)
    elif reduced:
        if symmetric and low == 0:  # torch refuses it
            return False
        options.update(reduce_range=True)
    shape = tuple(max(n, 1) for n in draws.shape(rng, 2 if channels else 1))
    if channels:
        attributes["axis"] = options["ch_axis"] = int(rng.integers(len(shape)))
    if "moving" in kind:
        attributes["averaging_constant"] = options["averaging_constant"] = float(draws.choose(rng, [0.01, 0.1, 0.3, 1.0]))
    seen = make(**options)
    label, x = draws.ranges(rng, shape)
    batches = [x] + [draws.ranges(rng, shape)[1] for _ in range(int(rng.integers(0, 3)))]
    for batch in batches:
        seen(torch.tensor(batch))
    try:
        scale, zero = seen.calculate_qparams()
    except AssertionError:  # an average of minima above that of maxima, which rounding can make
        return False
    outputs = [("scale", scale.numpy(), "float32"), ("zero_point", zero.numpy(), "int32"),
               ("min", seen.min_val.numpy(), "float32"), ("max", seen.max_val.numpy(), "float32")]
    if not np.isfinite(scale.numpy()).all():
        label += ", the peer's scale is not finite"
    else:
        ends = np.maximum(np.abs(low - zero.numpy()), np.abs(high - zero.numpy())).astype(np.float32)
        if np.isinf(ends * scale.numpy()).any():
            label += ", the peer's ends are infinite"
    label += f"; {kind} {attributes['qscheme']} {low} to {high}" + (" explicit" if explicit else "")
    writer.add("observer", label,
               [(f"batch{i}", b, "float32") for i, b in enumerate(batches)], outputs, attributes,
               {"kind": "scale_rel_zp_abs", "scale_rel": 0, "zp_abs": 0})


WATCHED = [("minmax", observers.MinMaxObserver), ("per_channel_minmax", observers.PerChannelMinMaxObserver),
           ("moving_average_minmax", observers.MovingAverageMinMaxObserver),
           ("moving_average_per_channel_minmax", observers.MovingAveragePerChannelMinMaxObserver)]
SEARCHED = [("histogram", observers.HistogramObserver)]

CASTS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "bfloat16", "float16"]


def to(rng, writer):
    """Tensor.to from float32."""
    import ml_dtypes
    name = draws.choose(rng, CASTS)
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    label, x = draws.around_codes(rng, draws.shape(rng), dtype)
    bits = torch.tensor(x).to(getattr(torch, name)).view(torch.int16 if dtype.itemsize == 2 else torch.uint8)
    codes = bits.numpy().view(dtype)
    writer.add("to", f"{label}; {name}", [("x", x, "float32")], [("y", codes, name)], {"to": name})


OPERATORS = [
    (f"torch/{name}_per_{granularity}", functools.partial(draw, per_channel=granularity == "channel"), 1.0)
    for name, draw in [("quantize", quantize), ("fake_quantize", fake_quantize), ("fake_quantize_learnable", learnable)]
    for granularity in ("tensor", "channel")]
OPERATORS += [("torch/observer", functools.partial(observer, kinds=WATCHED), 1.0),
              ("torch/histogram", functools.partial(observer, kinds=SEARCHED), 0.02), ("torch/to", to, 1.0)]
