# SPDX-License-Identifier: MIT
"""Draws random and adversarial cases, lets installed peers compute them, and runs them through tq-conformance.

Exit status: 0 when nothing failed, 1 when a case failed, 2 for wrong usage, 77 (skipped) where a Python package or the
program is missing.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import zlib

sys.dont_write_bytecode = True  # the folder is one of sources
SKIPPED = 77
COLUMNS = "cases", "values", "passed", "failed", "explained", "skipped"


def nearly_as_good(failure):
    """Whether a range that was searched for leaves hardly more error than the peer's, or next to none: the error that is
    evenly spread over a step has a mean square of a twelfth of the step's."""
    scale = re.search(r"recorded scale (\S+),", failure["text"])
    if scale is None:
        return False
    peer, got = float(failure["expected"].split()[-1]), float(failure["got"])
    return got <= 1.125 * peer or got <= 0.01 * float(scale[1]) ** 2


# What differs and why: patterns of the operator, of the draw's label and of "output: peer's value, tq's value" (or what
# judges the failure), then the reason. Such cases are counted apart.
EXPLAINED = [
    ("onnxruntime/QuantizeLinear", ", NaN; .* to u?int", r"^y.*: (-128|-32768|-8|-2|0), ",
     "onnxruntime makes the lowest code of NaN, tq by default the code of 0"),
    ("onnxruntime/(Cast|QuantizeLinear)", "to float8_e5m2; ", "^(output|y.*): (126, 124|254, 252)",
     "onnxruntime makes NaN, not infinity, of values that only rounding takes past the largest"),
    ("onnxruntime/(Cast|QuantizeLinear)", "to float8_e4m3fn; ", "^(output|y.*): (126, 127|254, 255)",
     "onnxruntime keeps values from 480 to 496 at 448, though they round to 480"),
    ("onnxruntime/Cast", "to float8_e8m0fnu", "^output: (0|254|1), ",
     "onnxruntime makes code 0 of negative values and of 2^-128, and saturates infinity; tq follows the ONNX reference"),
    ("onnx.*/DynamicQuantizeLinear", "the peer's scale is", "", "the peer's scale is 0 or infinite, tq's never is"),
    ("onnx/DynamicQuantizeLinear", "", r"^y_scale: 0\.00392156886 .*, 1 ",
     "the ONNX reference gives zeros the scale 1/255, onnxruntime and tq the scale 1"),
    ("onnx/QuantizeLinear", "to float4_e2m1fn", "^y.*: 0, 8",
     "the ONNX reference adds a zero point to quotients of float4, which takes the sign of -0"),
    ("torch/fake_quantize_learnable_per_tensor", "negative zero point", "dx|dscale",
     "torch truncates zero point + 0.5 on the way back, which takes negative ones elsewhere than rounding on the way there"),
    ("torch/quantize_per_tensor", "(0 to 255|-128 to 127)$", "^q: (0, 255|127, -128)",
     "torch adds the zero point to x / s in int32, which wraps from 2^31 on"),
    ("torch/quantize_per_(tensor|channel)", "far zero point; ", "^dq: ",
     "zero points beyond 2^24: torch subtracts them in wrapping int32 per tensor and in float32 per channel, tq exactly"),
    ("torch/(observer|histogram)", "the peer's scale is not finite", "", "the peer's scale is not finite"),
    ("torch/(observer|histogram)", "the peer's ends are infinite", "^scale: ",
     "the peer's scale takes an end of the codes past the largest float, tq's never does"),
    ("torch/histogram", "", nearly_as_good,
     "both search step by step: tq's mean squared error is within 1/8 of the peer's, or below 1/100 of a squared step"),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="tq-conformance", help="tq-conformance, a path or a name in PATH")
    parser.add_argument("--cases", type=int, default=100, help="cases of each operator")
    parser.add_argument("--seed", type=int, default=29, help="another seed draws other cases")
    parser.add_argument("--op", help="only this operator: torch/to, QuantizeLinear, ...")
    parser.add_argument("--keep", help="a new folder for the cases, which are left there")
    return parser.parse_args()


def operators():
    """All (name, draw, share of the cases); skips the run where a package is missing."""
    warnings.filterwarnings("ignore")
    try:
        import float_cases, onnx_cases, torch_cases
    except ImportError as problem:
        print(f"skipped: the peers are not installed: {problem}")
        sys.exit(SKIPPED)
    import ml_dtypes, onnx, onnxruntime, torch
    print("peers: " + ", ".join(f"{m.__name__} {m.__version__}" for m in (onnxruntime, onnx, torch, ml_dtypes)))
    return onnx_cases.OPERATORS + torch_cases.OPERATORS + float_cases.OPERATORS


def write_cases(name, draw, count, seed, folder):
    """Draws `count` cases; a draw returns False where its peer has nothing to compare, and is drawn again."""
    import numpy
    from cases import Writer
    rng = numpy.random.default_rng([seed, zlib.crc32(name.encode())])
    writer = Writer(folder, name.replace("/", "_"))
    while len(writer.cases) < count and writer.refused < 100 * count + 1000:
        if draw(rng, writer) is False:
            writer.refused += 1
    writer.close()
    return writer


def run_program(program, folder):
    done = subprocess.run([program, str(folder), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{program} {folder}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def kind_of(failure):
    """What failures have in common: the output and the message without its numbers."""
    text = re.sub(r"-?\d[\w.+-]*", "#", failure["text"])
    return re.sub(r"^\d+_", "", failure["output"]), text or "value"


def example(case, failure, folder):
    """One line about a failure, with the input where it went wrong."""
    import numpy
    line = f"case {failure['id']} [{case['label']}]"
    if failure["index"] is not None:
        line += f" index {failure['index']}"
        x = numpy.load(folder / case["inputs"][0]["file"])
        if x.size > failure["index"]:
            value = x.flat[failure["index"]]
            line += f" of {value!r}" + (f" = {float(value).hex()}" if x.dtype.kind == "f" else "")
        for other in case["inputs"][1:]:
            array = numpy.load(folder / other["file"])
            if array.size == 1:
                line += f", {other['name']} {array.flat[0]!r}"
    return line + f": peer {failure['expected']}, tq {failure['got']} {failure['text']}"


def explanation(name, label, failure):
    """The reason why a case differs, or None."""
    outcome = f"{failure['output']}: {failure['expected']}, {failure['got']}"
    for operator, drawn, pattern, reason in EXPLAINED:
        if not re.fullmatch(operator, name) or not re.search(drawn, label):
            continue
        if pattern(failure) if callable(pattern) else re.search(pattern, outcome):
            return reason
    return None


def report(name, writer, result, folder, seconds):
    """Prints the counts of one operator, then one line for each kind of failure; returns the failures not explained."""
    explained, kinds = collections.Counter(), collections.defaultdict(list)
    for failure in result["failures"]:
        reason = explanation(name, writer.cases[int(failure["id"])]["label"], failure)
        if reason is None:
            kinds[kind_of(failure)].append(failure)
        else:
            explained[reason] += 1
    failed = sum(map(len, kinds.values()))
    counts = len(writer.cases), writer.values, result["passed"], failed, explained.total(), result["skipped"]
    print(f"{name:45}" + "".join(f"{n:10}" for n in counts) + f"{seconds:6.0f} s", flush=True)
    for what, reasons in ("explained", explained), ("skipped", result["reasons"]):
        for reason, count in reasons.items():
            print(f"    {count} {what}: {reason}")
    for (output, text), failures in kinds.items():
        labels = collections.Counter(writer.cases[int(f["id"])]["label"].split(";")[0] for f in failures)
        drawn = ", ".join(f"{label} {n}" for label, n in labels.most_common(8))
        print(f"    {len(failures)} failed: {output}: {text} ({drawn})")
        print(f"        {example(writer.cases[int(failures[0]['id'])], failures[0], folder)}")
    return failed


def main():
    options = arguments()
    program = shutil.which(options.program)
    if program is None:
        print(f"skipped: no program {options.program}")
        return SKIPPED
    chosen = [o for o in operators() if options.op in (None, o[0], o[0].split("/")[1])]
    if not chosen:
        print(f"no operator {options.op}", file=sys.stderr)
        return 2
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="tq-live-"))
    print(f"{'operator':45}" + "".join(f"{c:>10}" for c in COLUMNS))
    failed = 0
    for name, draw, share in chosen:
        start, place = time.monotonic(), folder / name.replace("/", "_")
        writer = write_cases(name, draw, max(1, int(options.cases * share)), options.seed, place)
        result = run_program(program, place)
        failed += report(name, writer, result, place, time.monotonic() - start)
        if not options.keep:
            shutil.rmtree(place)
    if not options.keep:
        folder.rmdir()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
