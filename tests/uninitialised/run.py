#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether kernels read what was never written: builds kernels.cpp for clang's memory sanitizer, and
for valgrind, and runs it.

    python3 tests/uninitialised/run.py [--tool memory|valgrind] [--isa TEXT] [--include DIR]...

--isa chooses instruction sets that contain TEXT. Valgrind does not know AVX-512. libstdc++ is not
instrumented, so the program keeps to what its headers define. Exit status 1 where something is
reported or a build fails, 0 where nothing is.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "kernels.cpp"
INCLUDES = [HERE.parent.parent / "include", HERE.parent]

INSTRUCTION_SETS = {
    "sse4.2": "-msse4.2",
    "avx2": "-mavx2 -mfma -mf16c",
    "avx512": "-march=skylake-avx512",
}
MEMORY = ["clang++", "-fsanitize=memory", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
TOOLS = {  # how it is built, what runs it, and for which instruction sets
    "memory": (MEMORY, [], ["avx2", "avx512"]),
    "valgrind": (["g++"], ["valgrind", "-q", "--error-exitcode=1"], ["sse4.2", "avx2"]),
}


def run(tool, isa, arguments):
    """What a tool says of a build, and whether it says that nothing is wrong."""
    compiler, runner, _ = TOOLS[tool]
    with tempfile.TemporaryDirectory() as folder:
        program = str(pathlib.Path(folder) / "kernels")
        flags = ["-std=c++20", "-O1", "-g1", *INSTRUCTION_SETS[isa].split(), *arguments]
        built = subprocess.run([*compiler, *flags, str(SOURCE), "-o", program],
                               capture_output=True, text=True)
        if built.returncode != 0:
            return "does not build:\n" + built.stderr, False
        ran = subprocess.run([*runner, program], capture_output=True, text=True)
        if ran.returncode != 0:
            return f"ended with {ran.returncode}:\n{ran.stderr}", False
        return "nothing reported, " + ran.stdout.strip(), True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", choices=list(TOOLS))
    parser.add_argument("--isa", default="")
    parser.add_argument("--include", action="append", default=[], help="where xsimd is")
    options = parser.parse_args()
    arguments = [f"-I{path}" for path in [*INCLUDES, *options.include]]
    all_right = True
    for tool, (_, _, sets) in TOOLS.items():
        for isa in sets:
            if options.tool not in (None, tool) or options.isa not in isa:
                continue
            text, is_right = run(tool, isa, arguments)
            all_right = all_right and is_right
            print(f"{tool:9} {isa:7} {text}", flush=True)
    return not all_right


if __name__ == "__main__":
    sys.exit(main())
