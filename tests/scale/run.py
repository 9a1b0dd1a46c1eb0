#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether tq quantize keeps its promise of memory on a large model, and how near it comes to the
speed of the disk and of the processor: makes a sharded bfloat16 model, quantizes it, measures, and
deletes all of it.

    python3 tests/scale/run.py --folder DIR [--model llama|moe] [--gigabytes N] [--jobs N]
        [--tool FILE] [-- OPTIONS]

DIR needs room for the model, what it becomes and 2 GB, and is on the disk that is measured. The
model is a dense Llama or a mixture whose experts are fused into two tensors of each layer. OPTIONS
are those of tq quantize (default: --type int4 --group-size 128); with --format or --for the output
is the folder of an engine. Nothing of the model is in
the page cache when the run begins, where the system takes advice. The time that the disk needs is
that of reading all that is read and writing all that is written, one after the other; the time that
the processor needs is that of one shard in a folder in memory, by one thread, for all shards, shared
by the threads. Both are measured before the run and after it, and their mean counts. Exit status 1
where the run fails or takes more memory than the largest tensor and 64 MiB, else 0.
"""
import argparse
import array
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 1
PIECE = 1 << 23  # bytes of one read or write
MEMORY = "/dev/shm"
WORDS = 16384


class Llama:
    """The shapes of a model of 8 billion parameters, two layers in a shard."""
    width, in_shard = 4096, 2
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "dtype": "bfloat16",
              "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
              "num_key_value_heads": 8, "vocab_size": WORDS}
    layer = {
        "input_layernorm.weight": [4096],
        "self_attn.q_proj.weight": [4096, 4096],
        "self_attn.k_proj.weight": [1024, 4096],
        "self_attn.v_proj.weight": [1024, 4096],
        "self_attn.o_proj.weight": [4096, 4096],
        "post_attention_layernorm.weight": [4096],
        "mlp.gate_proj.weight": [14336, 4096],
        "mlp.up_proj.weight": [14336, 4096],
        "mlp.down_proj.weight": [4096, 14336],
    }


class Mixture:
    """The shapes of a model of 30 billion parameters with fused experts, a layer in a shard."""
    width, in_shard = 2048, 1
    config = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "dtype": "bfloat16",
              "hidden_size": 2048, "moe_intermediate_size": 768, "num_experts": 128,
              "num_experts_per_tok": 8, "num_attention_heads": 32, "num_key_value_heads": 4,
              "head_dim": 128, "vocab_size": WORDS}
    layer = {
        "input_layernorm.weight": [2048],
        "self_attn.q_proj.weight": [4096, 2048],
        "self_attn.k_proj.weight": [512, 2048],
        "self_attn.v_proj.weight": [512, 2048],
        "self_attn.o_proj.weight": [2048, 4096],
        "post_attention_layernorm.weight": [2048],
        "mlp.gate.weight": [128, 2048],
        "mlp.experts.gate_up_proj": [128, 1536, 2048],
        "mlp.experts.down_proj": [128, 2048, 768],
    }


MODELS = {"llama": Llama, "moe": Mixture}


def bytes_of(shape):
    size = 2
    for extent in shape:
        size *= extent
    return size


def tables(model):
    """The tensors outside of layers."""
    return {"model.embed_tokens.weight": [WORDS, model.width], "model.norm.weight": [model.width],
            "lm_head.weight": [WORDS, model.width]}


def shards_of(model, gigabytes):
    """The tensors of each shard: one for the tables, and layers in each of the others."""
    size = gigabytes * 1e9 - sum(map(bytes_of, tables(model).values()))
    shards = [tables(model)]
    for layer in range(max(1, round(size / sum(map(bytes_of, model.layer.values()))))):
        if layer % model.in_shard == 0:
            shards.append({})
        shards[-1].update({f"model.layers.{layer}.{name}": shape for name, shape in model.layer.items()})
    return shards


def write_config(model, shards, folder):
    layers = sum(name.endswith("input_layernorm.weight") for tensors in shards for name in tensors)
    text = json.dumps({**model.config, "num_hidden_layers": layers}, indent=2)
    (folder / "config.json").write_text(text)


def normal_values():
    """Normal values of bfloat16, the upper halves of float32, in one piece."""
    source = random.Random(SEED)
    floats = array.array("f", (source.gauss(0, 0.02) for _ in range(1 << 20)))
    if sys.byteorder == "big":
        floats.byteswap()
    plain, upper = floats.tobytes(), bytearray(2 * len(floats))
    upper[0::2], upper[1::2] = plain[2::4], plain[3::4]
    return bytes(upper) * (PIECE // len(upper) + 1)


def forget(file):
    """Asks the system to keep nothing of a file that is on the disk."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_shard(path, tensors, values, source):
    header, end = {}, 0
    for name, shape in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + bytes_of(shape)]}
        end += bytes_of(shape)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in tensors.values():
            left = bytes_of(shape)
            while left:
                begin = 2 * source.randrange(1 << 19)  # no two pieces are alike
                piece = memoryview(values)[begin:begin + min(left, PIECE)]
                file.write(piece)
                left -= len(piece)
        file.flush()
        os.fsync(file.fileno())
        forget(file)


def make_model(model, folder, gigabytes):
    values, source, places = normal_values(), random.Random(SEED), {}
    shards = shards_of(model, gigabytes)
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        write_shard(folder / name, tensors, values, source)
        places.update({tensor: name for tensor in tensors})
    index = {"metadata": {}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    write_config(model, shards, folder)


def size_of(folder):
    return sum(f.stat().st_size for f in folder.iterdir())


def reading_speed(folder, most=4 << 30):
    """Bytes a second of reading the shards that come last, which were not read for the longest."""
    count, start, buffer = 0, time.monotonic(), bytearray(PIECE)
    for path in sorted(folder.glob("*.safetensors"), reverse=True):
        with open(path, "rb", buffering=0) as file:
            forget(file)
            while count < most and (got := file.readinto(buffer)):
                count += got
            forget(file)
        if count >= most:
            break
    return count / (time.monotonic() - start)


def writing_speed(folder, size=2 << 30):
    """Bytes a second of writing a file until it is on the disk."""
    path, piece, start = folder / "written", bytes(PIECE), time.monotonic()
    with open(path, "wb", buffering=0) as file:
        for _ in range(size // PIECE):
            file.write(piece)
        os.fsync(file.fileno())
        speed = size / (time.monotonic() - start)
        forget(file)
    path.unlink()
    return speed


def quantize(tool, options, source, target, jobs):
    """Seconds, peak of resident bytes, processor seconds (user's and system's) of a run, its report."""
    with tempfile.TemporaryFile() as report:
        command = [tool, "quantize", str(source), str(target), *options, "--jobs", str(jobs), "--json"]
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=report)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.monotonic() - start
        if status != 0:
            sys.exit(f"{' '.join(command)}: expected exit status 0, got {os.waitstatus_to_exitcode(status)}")
        report.seek(0)
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return seconds, peak, (usage.ru_utime, usage.ru_stime), json.load(report)


def kernel_speed(tool, options, model):
    """Bytes a second, and a second of processor time, of one thread that quantizes a shard in memory."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        source = pathlib.Path(memory) / "model"
        source.mkdir()
        copy = shutil.copy(max(model.glob("*.safetensors"), key=lambda f: f.stat().st_size),
                           source / "model.safetensors")
        shutil.copy(model / "config.json", source)
        seconds, _, processor, _ = quantize(tool, options, source, f"{memory}/out/", 1)
        return os.path.getsize(copy) / seconds, os.path.getsize(copy) / sum(processor)


class Speeds:
    """What disk and processor do, as a mean of several measurements."""

    def __init__(self):
        self.reading, self.writing, self.kernel, self.processor = [], [], [], []

    def measure(self, folder, model, tool, options):
        self.reading.append(reading_speed(model))
        self.writing.append(writing_speed(folder))
        kernel, processor = kernel_speed(tool, options, model)
        self.kernel.append(kernel)
        self.processor.append(processor)

    @staticmethod
    def mean(list_of_speeds):
        return len(list_of_speeds) / sum(1 / speed for speed in list_of_speeds)

    def text(self, name):
        speeds = getattr(self, name)
        return " and ".join(f"{speed / 1e9:.2f}" for speed in speeds) + " GB/s"


def run(folder, options):
    model, out = folder / "model", folder / "out"
    model.mkdir()
    # A process of its own, so that what it takes is not counted as the tool's.
    subprocess.run([sys.executable, __file__, "--make", str(model), "--model", options.model,
                    "--gigabytes", str(options.gigabytes)], check=True)
    threads = min(options.jobs, os.cpu_count() or 1)
    speeds = Speeds()
    speeds.measure(folder, model, options.tool, options.options)
    seconds, peak, processor, report = quantize(options.tool, options.options, model, f"{out}/", options.jobs)
    speeds.measure(folder, model, options.tool, options.options)
    read, written = size_of(model), size_of(out)
    disk = read / speeds.mean(speeds.reading) + written / speeds.mean(speeds.writing)
    kernel = read / speeds.mean(speeds.kernel) / threads
    tensors = [tensor for shard in shards_of(MODELS[options.model], options.gigabytes)
               for tensor in shard.values()]
    largest = max(map(bytes_of, tensors))
    quantized = report["total"]["quantized"]
    allowed = largest + (64 << 20)
    print(f"model            {read / 1e9:.2f} GB in {len(list(model.glob('*.safetensors')))} shards, "
          f"{len(tensors)} tensors, {quantized} weights quantized")
    print(f"written          {written / 1e9:.2f} GB, {' '.join(options.options)}, {options.jobs} jobs")
    print(f"time             {seconds:.1f} s, {read / seconds / 1e9:.2f} GB/s of the model; "
          f"{sum(processor):.1f} s of processor time ({processor[1]:.1f} of the system), "
          f"in memory {read / speeds.mean(speeds.processor):.1f}")
    print(f"peak memory      {peak / 2**20:.0f} MiB; allowed {allowed / 2**20:.0f} MiB, "
          f"the largest tensor and 64")
    print(f"disk             {disk:.1f} s: reading {speeds.text('reading')}, writing {speeds.text('writing')}")
    print(f"processor        {kernel:.1f} s on {threads} cores: one thread {speeds.text('kernel')}")
    slower = "disk" if disk > kernel else "processor"
    print(f"ratio            {max(disk, kernel) / seconds:.2f} of the slower of the two, the {slower}")
    return peak > allowed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--model", choices=sorted(MODELS), default="llama")
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tool", default=str(ROOT / "build/demo/bin/tq"))
    parser.add_argument("--make", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("options", nargs="*", default=["--type", "int4", "--group-size", "128"])
    options = parser.parse_args()
    if options.make:
        return make_model(MODELS[options.model], options.make, options.gigabytes)
    if not options.folder:
        parser.error("expected --folder, got none")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the folder is deleted
    with tempfile.TemporaryDirectory(prefix="tq-scale-", dir=options.folder) as folder:
        return run(pathlib.Path(folder), options)


if __name__ == "__main__":
    sys.exit(main())
