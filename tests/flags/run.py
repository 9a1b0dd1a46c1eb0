#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether flags change what kernels compute: builds kernels.cpp with every flag for every instruction
set, and compares the digests of each kernel with those of the scalar reference, built with no flag.

    python3 tests/flags/run.py [--compiler g++] [--flag TEXT] [--isa TEXT] [--spread] [--include DIR]...

--flag and --isa choose those that contain TEXT; --spread tries every flag with one instruction set
and every instruction set with a flag, 22 builds of 330. Exit status 1 where a digest differs, 0 where none
does. A build that the compiler refuses is listed: what cannot be right is to be refused by name.
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
    "scalar": "-DTQ_FORCE_SCALAR",
    "sse2": "",
    "sse4.1": "-msse4.1",
    "sse4.2": "-msse4.2",
    "avx": "-mavx",
    "avx2": "-mavx2",
    "avx2+fma": "-mavx2 -mfma",
    "avx2+fma+f16c": "-mavx2 -mfma -mf16c",
    "avx2-f16c": "-march=haswell -mno-f16c",
    "avx2-fma": "-march=haswell -mno-fma",
    "avx512f": "-mavx512f",
    "avx512-bw": "-march=skylake-avx512 -mno-avx512bw",
    "avx512-vl": "-march=skylake-avx512 -mno-avx512vl",
    "avx512-dq": "-march=skylake-avx512 -mno-avx512dq",
    "avx512": "-march=skylake-avx512",
}
FLAGS = [
    "",
    "-funsigned-char",
    "-fsigned-char",
    "-funsigned-bitfields",
    "-fshort-enums",
    "-fwrapv",
    "-ftrapv",
    "-fno-strict-aliasing",
    "-fno-strict-overflow",
    "-fno-delete-null-pointer-checks",
    "-frounding-math",
    "-fsignaling-nans",
    "-ftrapping-math",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-ffp-contract=off",
    "-ffp-contract=fast",
    "-fno-signed-zeros",
    "-fno-exceptions",
    "-fno-rtti",
    "-O3 -fno-inline",
    "-Os",
]


def digests(compiler, arguments, folder):
    """The lines of a build, or the first error of the compiler or the program."""
    program = folder / "kernels"
    build = [*compiler, "-std=c++20", *arguments, str(SOURCE), "-o", str(program)]
    built = subprocess.run(build, capture_output=True, text=True)
    if built.returncode != 0:
        errors = [line for line in built.stderr.splitlines() if "error" in line]
        return None, "refused: " + (errors or built.stderr.splitlines() or ["?"])[0]
    ran = subprocess.run([str(program)], capture_output=True, text=True)
    if ran.returncode == -4:
        return None, "this processor lacks its instructions"
    if ran.returncode != 0:
        return ran.stdout.splitlines(), f"ended with {ran.returncode}"
    return ran.stdout.splitlines(), ""


def pairs(options):
    """The instruction sets and flags to try."""
    sets = list(INSTRUCTION_SETS)
    chosen = [(isa, flag) for isa in sets for flag in FLAGS]
    if options.spread:
        chosen = [(sets[7 * i % len(sets)], flag) for i, flag in enumerate(FLAGS)]
    return [(isa, flag) for isa, flag in chosen if options.isa in isa and options.flag in flag]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flag", default="")
    parser.add_argument("--isa", default="")
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--include", action="append", default=[], help="where xsimd is")
    options = parser.parse_args()
    compiler = options.compiler.split()
    common = [f"-I{path}" for path in [*INCLUDES, *options.include]]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        right, problem = digests(compiler, [*common, "-O0", "-DTQ_FORCE_SCALAR"], folder)
        if problem:
            sys.exit(f"the reference: {problem}")
        for isa, flag in pairs(options):
            arguments = [*common, "-O1", *INSTRUCTION_SETS[isa].split(), *flag.split()]
            lines, problem = digests(compiler, arguments, folder)
            differing = [] if lines is None else sorted(set(right) - set(lines))
            wrong += bool(differing)
            kernels = ", ".join(line.rsplit(" ", 1)[0] for line in differing)
            verdict = problem or "the same"
            if differing:
                verdict = f"{problem} {len(differing)} differ: {kernels}".strip()
            print(f"{isa:14} {flag:32} {verdict}", flush=True)
    print(f"{wrong} builds differ")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
