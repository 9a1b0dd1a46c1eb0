#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the tool writes is opened by the readers of safetensors for torch and numpy, for every scheme; and
weights as other programs quantize them, written here with numpy, come back with the values they stand for.

    python3 tests/live/files.py build/demo/bin/tq [--seed N]

Needs torch, numpy, ml_dtypes and safetensors; without them it says so and ends with status 77.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

try:
    import ml_dtypes  # noqa: F401  (gives numpy bfloat16 and float8)
    import numpy as np
    import torch
    from safetensors import safe_open
    from safetensors.numpy import load_file as load_numpy
    from safetensors.torch import load_file as load_torch
    from safetensors.torch import save_file
except ImportError as missing:
    print(f"files.py: skipped, {missing}")
    sys.exit(77)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def open_schemes(tq, folder, rng):
    """Every scheme and some shapes: all tensors can be opened; returns (files, failures)."""
    schemes = [s["name"] for s in json.loads(run(tq, "formats", "--json")[1])["schemes"]]
    files, failures, not_for_numpy = 0, [], 0
    source, target = os.path.join(folder, "m.safetensors"), os.path.join(folder, "q.safetensors")
    for shape in ([4, 64], [4, 33], [3, 3], [4, 3], [2, 3, 5], [1, 128]):
        save_file({"w": torch.tensor(rng.standard_normal(shape), dtype=torch.float32)}, source)
        for name in schemes:
            status, _, error = run(tq, "quantize", source, target, "--type", name)
            if status != 0:
                print(f"  {name} {shape}: {error.strip()[:100]}")
                continue
            files += 1
            try:
                tensors = load_torch(target)
                codes = tensors.get("w.codes", tensors.get("w"))
                if codes.dtype in (torch.int8, torch.int16) and list(codes.shape) != shape:
                    failures.append(f"{name} {shape}: codes of {list(codes.shape)}")
            except Exception as e:  # whatever a reader raises
                failures.append(f"torch, {name} {shape}: {e}")
            try:
                load_numpy(target)
            except (AttributeError, TypeError):  # numpy has no float8, float4 and bfloat16
                not_for_numpy += 1
            except Exception as e:
                failures.append(f"numpy, {name} {shape}: {e}")
    print(f"schemes: {files} files written, {len(failures)} not opened; "
          f"{not_for_numpy} have types that numpy has not")
    return failures


def pack(codes, bits, axis):
    """Fields from the lowest bit of int32 words on, along an axis."""
    c = np.moveaxis(codes.astype(np.uint64), axis, -1)
    n = c.shape[-1]
    planes = ((c[..., None] >> np.arange(bits, dtype=np.uint64)) & 1).reshape(*c.shape[:-1], n * bits)
    pad = -planes.shape[-1] % 32
    planes = np.concatenate([planes, np.zeros(planes.shape[:-1] + (pad,), np.uint64)], axis=-1)
    words = planes.reshape(*planes.shape[:-1], -1, 32) @ (np.uint64(1) << np.arange(32, dtype=np.uint64))
    return np.moveaxis(words.astype(np.uint32).view(np.int32), -1, axis)


def checkpoints(rng):
    """(name of the weight, its tensors, its values) for every format, and dtype of scales."""
    t = lambda a: torch.from_numpy(np.ascontiguousarray(a))
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        w = torch.tensor(rng.standard_normal((200, 300)), dtype=torch.float32).to(dtype)
        s = rng.random((2, 3), dtype=np.float32) + 0.01
        full = np.repeat(np.repeat(s, 128, 0), 128, 1)[:200, :300]
        yield "a.weight", {"a.weight": w, "a.weight_scale_inv": t(s)}, w.float().numpy() * full
        one = np.float32(0.37)
        yield "c.weight", {"c.weight": w, "c.scale_weight": torch.tensor(one), "scaled_fp8": torch.zeros(2).to(dtype)}, w.float().numpy() * one
        row = rng.random((200, 1), dtype=np.float32)
        yield "r.weight", {"r.weight": w, "r.weight_scale": t(row).bfloat16()}, (
            w.float() * t(row).bfloat16().float()).bfloat16().float().numpy()  # the type of the scales
    k, n, size = 128, 64, 32
    for bits in (2, 3, 4, 8):
        codes = rng.integers(0, 1 << bits, (k, n))
        zeros = rng.integers(1, 1 << bits, (k // size, n))
        scales = (rng.random((k // size, n), dtype=np.float32) + 0.01).astype(np.float16)
        scales[1, 3] = 0
        g_idx = rng.permutation(np.arange(k) // size).astype(np.int32)
        values = (codes - zeros[g_idx]).astype(np.float32) * scales[g_idx].astype(np.float32)
        tensors = {"g.qweight": t(pack(codes, bits, 0)), "g.qzeros": t(pack(zeros - 1, bits, 1)),
                   "g.scales": t(scales), "g.g_idx": t(g_idx)}
        yield "g.weight", tensors, values.T.astype(np.float16).astype(np.float32)
    codes, zeros = rng.integers(0, 16, (k, n)), rng.integers(0, 16, (k // size, n))
    scales = (rng.random((k // size, n), dtype=np.float32) + 0.01).astype(np.float16)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    shuffle = lambda c: c.reshape(c.shape[0], -1, 8)[..., order].reshape(c.shape)
    values = (codes - np.repeat(zeros, size, 0)).astype(np.float32) * np.repeat(scales, size, 0).astype(np.float32)
    yield "q.weight", {"q.qweight": t(pack(shuffle(codes), 4, 1)), "q.qzeros": t(pack(shuffle(zeros), 4, 1)),
                       "q.scales": t(scales)}, values.T.astype(np.float16).astype(np.float32)
    for bits in range(1, 9):
        half = 1 << (bits - 1)
        codes = rng.integers(-half, half, (n, k))
        zeros = rng.integers(-half, half, (n, k // size))
        scales = rng.random((n, k // size), dtype=np.float32)
        values = (codes - np.repeat(zeros, size, 1)).astype(np.float32) * np.repeat(scales, size, 1)
        yield "p.weight", {"p.weight_packed": t(pack(codes + half, bits, 1)), "p.weight_scale": t(scales),
                           "p.weight_zero_point": t(pack(zeros + half, bits, 0)),
                           "p.weight_shape": torch.tensor([n, k])}, values
    codes, scb = rng.integers(-127, 128, (n, k)).astype(np.int8), rng.random(n, dtype=np.float32)
    yield "l.weight", {"l.weight": t(codes), "l.SCB": t(scb)}, (
        (torch.from_numpy(codes) * torch.from_numpy(scb).view(-1, 1)) * 7.874015718698502e-3).half().float().numpy()
    e2m1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    codes = rng.integers(0, 16, (n, k))
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    blocks = torch.tensor(rng.random((n, k // 16)) * 400, dtype=torch.float32).to(torch.float8_e4m3fn)
    ts = np.float32(0.0123)
    scale = (blocks.float().numpy() * ts).astype(np.float32)
    yield "m.weight", {"m.weight": t(packed), "m.weight_scale": blocks, "m.weight_scale_2": torch.tensor(ts)}, (
        e2m1[codes] * np.repeat(scale, 16, 1))


def read_checkpoints(tq, folder, rng):
    failures, count = [], 0
    source, target = os.path.join(folder, "m.safetensors"), os.path.join(folder, "d.safetensors")
    for name, tensors, values in checkpoints(rng):
        count += 1
        save_file({k: v.contiguous() for k, v in tensors.items()}, source)
        status, _, error = run(tq, "dequantize", source, target)
        if status != 0:
            failures.append(f"{sorted(tensors)}: {error.strip()}")
            continue
        got = load_torch(target)[name].float().numpy()
        if got.shape != values.shape or not np.array_equal(got, values):
            failures.append(f"{sorted(tensors)}: {np.sum(got != values)} of {values.size} values differ"
                            if got.shape == values.shape else f"{sorted(tensors)}: shape {got.shape}")
        copied = os.path.join(folder, "q.safetensors")
        run(tq, "quantize", source, copied, "--type", "int4")
        with safe_open(source, "pt") as a, safe_open(copied, "pt") as b:
            if sorted(a.keys()) != sorted(b.keys()):
                failures.append(f"{sorted(tensors)}: quantize left {sorted(b.keys())}")
    print(f"checkpoints: {count} weights read, {len(failures)} failures")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tq", help="the built tool")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        failures = open_schemes(options.tq, folder, rng) + read_checkpoints(options.tq, folder, rng)
    for failure in failures:
        print("FAILED", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
