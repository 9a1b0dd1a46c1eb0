# SPDX-License-Identifier: MIT
"""Random and adversarial scales, values, ranges and shapes. Each table maps a label to how its arrays are drawn."""

import numpy as np

LARGEST = np.finfo(np.float32).max
SMALLEST = np.float32(2.0**-149)


def choose(rng, options):
    """One of a sequence."""
    return options[int(rng.integers(len(options)))]


def nudged(rng, x, ulps=2):
    """Floats at most `ulps` steps beside those of x."""
    for _ in range(ulps):
        with np.errstate(all="ignore"):
            toward = np.where(rng.random(x.shape) < 0.5, -np.inf, np.inf).astype(x.dtype)
            x = np.where(rng.random(x.shape) < 0.5, x, np.nextafter(x, toward))
    return x


def any_bits(rng, shape):
    """Any finite float32, all bit patterns alike."""
    x = rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
    return np.where(np.isfinite(x), x, np.float32(0))


def subnormal(rng, shape):
    return rng.integers(1, 2**23, shape, dtype=np.uint32).view(np.float32)


def shape(rng, smallest_rank=1):
    """Extents of at most three axes; sometimes one element or none."""
    rank = int(rng.integers(smallest_rank, 4))
    extents = rng.integers(1, 10, rank)
    if rng.random() < 0.04:
        extents[int(rng.integers(rank))] = 0
    elif rng.random() < 0.05:
        extents[:] = 1
    elif rank == 1 and rng.random() < 0.5:
        extents[0] = rng.integers(10, 200)
    return tuple(int(n) for n in extents)


SCALES = {
    "usual": lambda rng, n: 10.0 ** rng.uniform(-4, 2, n),
    "power of two": lambda rng, n: 2.0 ** rng.integers(-20, 20, n),
    "tiny": lambda rng, n: 10.0 ** rng.uniform(-37, -30, n),
    "subnormal": lambda rng, n: np.maximum(subnormal(rng, n), np.float32(2.0**-128 * (1 + 2.0**-20))),
    "huge": lambda rng, n: 10.0 ** rng.uniform(30, 38.5, n),
}


def scales(rng, n):
    """A label and float32 scales of shape `n`; half of the draws are usual ones."""
    label = "usual" if rng.random() < 0.5 else choose(rng, list(SCALES))
    return label, np.asarray(SCALES[label](rng, n), np.float32)


def _multiples(rng, step, span, offset):
    k = rng.integers(-span - 2, span + 3, step.shape) + offset
    return (k * step.astype(np.float64)).astype(np.float32)


# From (rng, the step of every element, the number of steps of the codes) to values of the step's shape.
VALUES = {
    "within": lambda rng, step, span: rng.uniform(-1.2, 1.2, step.shape) * span * step.astype(np.float64),
    "ties": lambda rng, step, span: _multiples(rng, step, span, 0.5),
    "next to ties": lambda rng, step, span: nudged(rng, _multiples(rng, step, span, 0.5)),
    "next to codes": lambda rng, step, span: nudged(rng, _multiples(rng, step, span, 0.0)),
    "gauss": lambda rng, step, span: rng.standard_normal(step.shape) * 10.0 ** rng.uniform(-6, 6),
    "any bits": lambda rng, step, span: any_bits(rng, step.shape),
    "subnormal": lambda rng, step, span: subnormal(rng, step.shape) * rng.choice([-1, 1], step.shape),
    "ends": lambda rng, step, span: rng.choice(
        np.array([LARGEST, -LARGEST, 2.0**-126, SMALLEST, -SMALLEST, 0.0, -0.0, 1.0], np.float32), step.shape),
    "constant": lambda rng, step, span: np.full(
        step.shape, rng.uniform(-1, 1) * span * float(step.flat[0] if step.size else 1)),
}


def values(rng, step, span, kinds=tuple(VALUES)):
    """A label and float32 values for codes that lie `step` apart; a tenth of the draws hold zeros of both signs."""
    label = choose(rng, kinds)
    with np.errstate(over="ignore"):
        x = np.asarray(VALUES[label](rng, step, span), np.float64)
        x = np.clip(x, -LARGEST, LARGEST).astype(np.float32)
    if rng.random() < 0.1:
        x = np.where(rng.random(x.shape) < 0.2, rng.choice(np.array([0.0, -0.0], np.float32), x.shape), x)
    return label, x


def with_nonfinite(rng, x, kinds):
    """x with some elements replaced by those of `kinds`."""
    return np.where(rng.random(x.shape) < 0.2, rng.choice(np.array(kinds, np.float32), x.shape), x).astype(np.float32)


def _magnitude(rng):
    return 10.0 ** rng.uniform(-8, 8)


# From (rng, shape) to values whose range is the point.
RANGES = {
    "gauss": lambda rng, s: rng.standard_normal(s) * _magnitude(rng),
    "shifted": lambda rng, s: rng.standard_normal(s) + rng.uniform(-20, 20),
    "positive": lambda rng, s: rng.uniform(0, 1, s) * _magnitude(rng),
    "negative": lambda rng, s: -rng.uniform(0, 1, s) * _magnitude(rng),
    "far from zero": lambda rng, s: (rng.uniform(0, 1, s) + 100) * rng.choice([-1, 1]) * _magnitude(rng),
    "mirrored": lambda rng, s: np.where(rng.random(s) < 0.5, -1, 1) * _magnitude(rng),
    "mirrored, round": lambda rng, s: np.where(rng.random(s) < 0.5, -1.0, 1.0) * rng.integers(1, 100),
    "round": lambda rng, s: rng.integers(-20, 21, s) * 0.25,
    "constant": lambda rng, s: np.full(s, rng.standard_normal() * _magnitude(rng)),
    "zeros": lambda rng, s: np.zeros(s) * rng.choice([-1, 1]),
    "mixed magnitudes": lambda rng, s: rng.standard_normal(s) * 10.0 ** rng.uniform(-6, 6, s),
    "outlier": lambda rng, s: np.where(rng.random(s) < 0.05, 1e6, rng.standard_normal(s)),
    "big": lambda rng, s: rng.uniform(-1, 1, s) * 1e38,
    "any bits": lambda rng, s: any_bits(rng, s),
    "ends": lambda rng, s: rng.choice([LARGEST, -LARGEST, 0.0, 1.0], s),
    "one end": lambda rng, s: rng.choice([LARGEST * rng.choice([-1, 1]), 0.0], s),
    "tiny": lambda rng, s: rng.uniform(-1, 1, s) * 10.0 ** rng.uniform(-38, -30),
    "subnormal": lambda rng, s: subnormal(rng, s).astype(np.float64) * rng.choice([-1, 1], s),
}


def ranges(rng, s, kinds=tuple(RANGES)):
    """A label and finite float32 values of shape `s`."""
    label = choose(rng, kinds)
    return label, np.asarray(RANGES[label](rng, s), np.float32)


def around_codes(rng, s, dtype, nonfinite=True):
    """A label and float32 values for a cast to a narrow float type: its values, the ties between them and beside both,
    the ends of its range, other floats of every magnitude, and (a tenth of the draws) NaN and infinities."""
    bits = 16 if dtype.itemsize == 2 else 8
    codes = rng.integers(0, 2**bits, s).astype(f"uint{bits}")
    if dtype.name.startswith(("float4", "float6")):
        codes = codes % 2 ** int(dtype.name[5])
    if dtype == np.float32:
        return "any bits", any_bits(rng, s)
    with np.errstate(all="ignore"):
        here = codes.view(dtype).astype(np.float64)
        there = (codes ^ 1).view(dtype).astype(np.float64) if rng.random() < 0.5 else np.roll(here, 1)
        label = choose(rng, ["codes", "ties", "next to codes", "next to ties", "gauss", "any bits", "subnormal", "ends"])
        if label.endswith("codes"):
            x = here.astype(np.float32)
        elif label.endswith("ties"):
            x = ((here + there) / 2).astype(np.float32)
        elif label == "gauss":
            x = (rng.standard_normal(s) * 10.0 ** rng.uniform(-8, 8)).astype(np.float32)
        else:
            x = np.asarray(VALUES[label](rng, np.ones(s, np.float32), 1), np.float32)
        if label.startswith("next"):
            x = nudged(rng, x)
    x = np.where(np.isfinite(x), x, np.float32(0))
    if rng.random() < 0.1:
        x = np.where(rng.random(s) < 0.2, rng.choice(np.array([0.0, -0.0], np.float32), s), x)
    if nonfinite and rng.random() < 0.1:
        label, x = label + ", nonfinite", with_nonfinite(rng, x, [np.nan, np.inf, -np.inf])
    return label, x.astype(np.float32)
