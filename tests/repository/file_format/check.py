"""check.py TOOL PAGE WORK: files of many schemes, read by reader.py, have the values of `tq dequantize`, bit for bit."""
import json, math, os, random, shutil, struct, subprocess, sys

import reader

SCHEMES = """--type int4_g32; --type uint3_g32; --type int8; --type int16; --type uint16; --type int5 --symmetry symmetric_narrow
--type uint2 --granularity per_tensor; --type int7 --granularity per_token; --type int6 --granularity per_block --block-rows 2 --block-cols 16
--type int4 --group-size 16 --axis 0 --scale-type bfloat16; --type uint4 --symmetry float_offset --group-size 32
--type int8 --symmetry float_offset --scale-type float16; --type ternary; --type binary; --type mxfp4; --type mxfp6_e2m3
--type mxfp6_e3m2; --type mxfp8_e4m3; --type mxint8; --type nvfp4; --type nvfp4_normal; --type nf4; --type nf4_double
--type bnb_fp4; --type iq4_nl; --type dynamic8; --type fp8_e5m2; --type float16; --type bfloat16; --type float8_e4m3fn
--type float8_e4m3fnuz; --type float8_e5m2fnuz""".replace("\n", ";").split(";")


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack("<%df" % len(values), *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def plain(path):
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    return {name: data[start:][slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


def tensor(random_, *shape):
    return list(shape), [random_.gauss(0, 1) for _ in range(math.prod(shape))]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stderr))


def compare(file, decoded, expected):
    """The number of tensors of `file`, which are those of the file `decoded`."""
    values, names = plain(decoded), []
    for name, numbers in reader.read(file):
        names.append(name)
        if struct.pack("<%df" % len(numbers), *numbers) != values[name]:
            sys.exit("%s: %s: expected the values of tq dequantize, got others" % (file, name))
    if len(names) != expected or sorted(names) != sorted(values):
        sys.exit("%s: expected %d tensors, got %d" % (file, expected, len(names)))
    return expected


def main(tool, page, work):
    reader.learn(open(page, encoding="utf-8").read())
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work + "/sharded")
    model, small, back = (work + "/" + name + ".safetensors" for name in ("model", "small", "back"))
    random_, read = random.Random(1), 0
    write(model, {"a": tensor(random_, 7, 40), "b": tensor(random_, 3, 5, 2), "c": tensor(random_, 2, 300), "d": tensor(random_, 1, 1)})
    for scheme in SCHEMES:
        run(tool, "quantize", model, small, "--all", *scheme.split())
        run(tool, "dequantize", small, back)
        read += compare(small, back, 4)
    # Thousands of tensors of a few bytes, which share a pool.
    write(model, {"layer.%d" % i: tensor(random_, 1 + i % 3) for i in range(4100)})
    run(tool, "quantize", model, small, "--all", "--type", "uint8", "--granularity", "per_tensor")
    if "tq.pool" not in plain(small):
        sys.exit(small + ": expected a pool, got none")
    run(tool, "dequantize", small, back)
    read += compare(small, back, 4100)
    # A folder of shards.
    for i in (1, 2):
        write(work + "/sharded/%d.safetensors" % i, {"w%d" % i: tensor(random_, 4, 64)})
    with open(work + "/sharded/model.safetensors.index.json", "w") as file:
        json.dump({"metadata": {}, "weight_map": {"w1": "1.safetensors", "w2": "2.safetensors"}}, file)
    run(tool, "quantize", work + "/sharded", work + "/small/", "--type", "mxfp4")
    run(tool, "dequantize", work + "/small", work + "/back/")
    for i in (1, 2):
        read += compare(work + "/small/%d.safetensors" % i, work + "/back/%d.safetensors" % i, 1)
    print("%d tensors in %d schemes have the values of tq dequantize" % (read, len(SCHEMES)))


if __name__ == "__main__":
    main(*sys.argv[1:])
