# SPDX-License-Identifier: MIT
"""Cases as files in the layout that tq-conformance reads: <folder>/<group>/manifest.json and arrays beside it."""

import json
import pathlib

import ml_dtypes
import numpy as np

INTEGERS = {name: bounds for name, bounds in [
    ("int2", (-2, 1)), ("uint2", (0, 3)), ("int4", (-8, 7)), ("uint4", (0, 15)), ("int8", (-128, 127)),
    ("uint8", (0, 255)), ("int16", (-32768, 32767)), ("uint16", (0, 65535)), ("int32", (-2**31, 2**31 - 1))]}
FLOAT8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
NARROW_FLOATS = FLOAT8 + ["float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]


def numpy_type(name):
    """The NumPy type of a dtype name, from ml_dtypes where NumPy has none."""
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


def stored(array, dtype):
    """An array as its manifest entry stores it: one code or value per element, and the name of the encoding."""
    if dtype in NARROW_FLOATS:
        return array.astype(numpy_type(dtype), copy=False).view(np.uint8), "codes"
    if dtype in ("bfloat16", "float16"):
        return array.astype(numpy_type(dtype), copy=False).view(np.uint16), "codes"
    if dtype in ("int2", "int4"):
        return array.astype(np.int8), "values"
    if dtype in ("uint2", "uint4"):
        return array.astype(np.uint8), "values"
    return array.astype(dtype, copy=False), None


class Writer:
    """One group of cases. `add` writes the arrays of a case at once, `close` the manifest."""

    def __init__(self, folder, group):
        self.root, self.group = pathlib.Path(folder), group
        (self.root / group).mkdir(parents=True)
        self.cases, self.values, self.refused = [], 0, 0

    def add(self, op, label, inputs, outputs, attributes=None, tolerance=None):
        """`inputs` and `outputs` are lists of (name, array, dtype); `label` says how the case was drawn."""
        name = str(len(self.cases))
        self.cases.append({
            "id": name, "op": op, "label": label, "attributes": attributes or {},
            "inputs": [self._array(name, *tensor) for tensor in inputs],
            "outputs": [self._array(name, *tensor) for tensor in outputs],
            "tolerance": tolerance or {"kind": "exact"}})
        self.values += outputs[0][1].size

    def _array(self, case, name, array, dtype):
        data, encoding = stored(np.asarray(array), dtype)
        file = f"{self.group}/{case}_{name}.npy"
        np.save(self.root / file, np.ascontiguousarray(data).reshape(data.shape))
        entry = {"name": name, "dtype": dtype, "shape": list(data.shape), "file": file}
        return entry if encoding is None else {**entry, "encoding": encoding}

    def close(self):
        text = json.dumps({"group": self.group, "cases": self.cases})
        (self.root / self.group / "manifest.json").write_text(text)
