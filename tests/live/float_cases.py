# SPDX-License-Identifier: MIT
"""Casts to and from the narrow floats of ml_dtypes (float16 is NumPy's)."""

import numpy as np

import draws
from cases import NARROW_FLOATS, numpy_type

TYPES = ["float16", "bfloat16", *NARROW_FLOATS]


def encode(rng, writer):
    """From float32, to the nearest value. Where a type has neither infinity nor NaN the peer saturates."""
    name = draws.choose(rng, TYPES)
    label, x = draws.around_codes(rng, draws.shape(rng), numpy_type(name))
    with np.errstate(all="ignore"):
        codes = x.astype(numpy_type(name))
    writer.add("encode", f"{label}; {name}", [("x", x, "float32")], [("nonsat", codes, name)],
               {"rounding": "nearest_even", "format": name})


def decode(rng, writer):
    """Random codes. All codes of a type are few, so many draws repeat them in another order and number."""
    name = draws.choose(rng, TYPES)
    bits = int(name[5]) if name.startswith(("float4", "float6")) else numpy_type(name).itemsize * 8
    size = int(rng.integers(0, 300))
    codes = rng.integers(0, 2**bits, size).astype(f"uint{max(bits, 8)}").view(numpy_type(name))
    writer.add("decode", name, [("codes", codes, name)], [("values", codes.astype(np.float32), "float32")])


OPERATORS = [("ml_dtypes/encode", encode, 1.0), ("ml_dtypes/decode", decode, 1.0)]
