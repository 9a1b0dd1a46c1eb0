"""Reads quantized files as docs/file-format.md describes them, with the standard library only."""
import io, json, math, re, struct
PAGE = {}  # the code books and the values of small floats
def learn(page):
    PAGE.update(json.loads(next(b for b in re.findall(r"```json\n(.*?)```", page, re.S) if '"nf4"' in b)))
    for name, e, m, bias, specials in re.findall(r"\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \| `(\w+)` \|", page):
        PAGE[name] = [float_value(q, int(e), int(m), int(bias), specials) for q in range(2 << (int(e) + int(m)))]
f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]  # x as float32
def float_value(q, e, m, bias, specials):
    sign, E, M = (-1) ** (q >> (e + m)), (q >> m) & ((1 << e) - 1), q & ((1 << m) - 1)
    is_special = {"ieee": E + 1 == 1 << e, "nan_only": q & ~(1 << (e + m)) == (1 << (e + m)) - 1,
                  "negative_zero_nan": q == 1 << (e + m), "finite": False}[specials]
    if is_special: return sign * math.inf if specials == "ieee" and M == 0 else math.nan
    return sign * (2.0 ** (E - bias) * (1 + M / 2 ** m) if E else 2.0 ** (1 - bias) * M / 2 ** m)
def values_of(name):  # v(q) of every code q
    if name == "float8_e8m0fnu": return [2.0 ** (q - 127) for q in range(255)] + [math.nan]
    if name in PAGE: return [f32(x) for x in PAGE[name]]
    bits = {"ternary": 2, "fixed8": 8}.get(name) or int(name.split("int")[1])
    low = 0 if name.startswith("u") else 1 << (bits - 1)
    return [((q ^ low) - low) / (64 if name == "fixed8" else 1) for q in range(1 << bits)]
def take(part, ending, kind, n):  # the n numbers of a part
    if kind == "float32": return struct.unpack("<%df" % n, part(ending, 4 * n))
    v = values_of(kind)
    bits = len(v).bit_length() - 1
    packed = int.from_bytes(part(ending, (n * bits + 7) // 8), "little")
    return [v[packed >> (i * bits) & (len(v) - 1)] for i in range(n)]
def scales_of(part, ending, kind, n):
    if kind == "double_quantized":
        codes, blocks = take(part, ending, "dynamic8", n), take(part, ".block_scales", "float32", (n + 255) // 256)
        offset = take(part, ".scale_offset", "float32", 1)[0]
        return [max(f32(f32(c * blocks[i // 256]) + offset), 0.0) for i, c in enumerate(codes)]
    numbers = take(part, ending, kind.split("_two_level")[0], n)
    by = take(part, ".tensor_scale", "float32", 1)[0] if "_two_level" in kind else 1.0
    return [f32(x * by) for x in numbers]
def decode(spec, shape, part):  # part(ending, size): the bytes of a part, asked for in the order of the page
    v, kind, at = take(part, ".codes", spec["type"], math.prod(shape)), spec["scale_type"], [0]
    if kind == "none": return v
    ones, last = [1] * len(shape), [spec.get("block_rows"), spec.get("block_cols")]
    block = {"per_token": ones[1:] + shape[-1:], "per_group": ones, "per_block": ones[2:] + last}.get(spec["granularity"], shape[:])
    if "axis" in spec: block[spec["axis"]] = spec.get("group_size", 1)
    grid = [-(-n // b) if n else int(b == 0) for n, b in zip(shape, block)]
    for n, b, blocks in zip(shape, block, grid): at = [p * blocks + i // b for p in at for i in range(n)]
    count, zero = math.prod(grid), spec["type"].split("int")[0] + ("int16" if spec["type"].endswith("16") else "int8")
    s = scales_of(part, ".scales", kind, count)
    z = take(part, ".zero_points", zero, count) if spec["symmetry"] == "asymmetric" else [0] * count
    m = scales_of(part, ".offsets", kind, count) if spec["symmetry"] == "float_offset" else [-0.0] * count
    return [f32(f32((x - z[p]) * s[p]) + m[p]) for x, p in zip(v, at)]
def read(path):  # name and values of every quantized tensor of one file
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    stored = lambda name: data[start:][slice(*header[name]["data_offsets"])]
    tq = json.loads(header["__metadata__"]["tq"])
    for name, e in tq["tensors"].items():
        yield name, decode(e["spec"], e["shape"], lambda end, size: stored(name + end if name + end in header else name))
    pool = tq.get("pool", {"tensors": {}})
    rest = io.BytesIO(stored(pool["tensor"]) if "tensor" in pool else b"")
    for name in sorted(pool["tensors"], key=str.encode):
        e = pool["kinds"][pool["tensors"][name]]
        yield name, decode(e["spec"], e["shape"], lambda end, size: rest.read(size))
