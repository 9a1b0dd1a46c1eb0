#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of docs/guides/performance.md from one run of tq-bench.

    python3 benchmarks/performance/run.py [--program FILE] [--repetitions N] [--note TEXT]
    python3 benchmarks/performance/run.py --fill | --check [--program FILE]

Without options it builds tq-bench by the preset `bench`, runs the rows that tables.json names, several times and in random order,
writes medians and minima to measured.json, and fills the page: the lines between `<!-- table: NAME -->` and `<!-- end -->`.
--fill makes the page from measured.json again. --check only compares the page with it, and with the rows that --program lists.
Exit status 1 where a row is missing, a table is unknown, or the page differs.

tables.json has for each table its header, the form of its cells, and the names of tq-bench's rows in its cells:
`element` is nanoseconds an element, `call` the time of a call, both as the median and the minimum in brackets; a pair
[ROW, CEILING] is the speed of ROW divided by that of CEILING, by minima. An empty name is an empty cell, and so is a share of a row
`ceiling/...` that the processor does not have.
"""
import argparse
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE, TABLES, MEASURED = ROOT / "docs/guides/performance.md", HERE / "tables.json", HERE / "measured.json"
MARKED = re.compile(r"(<!-- table: (\S+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
BY_PROCESSOR = ("matmul/", "linear/", "weight_only/")  # rows whose nanoseconds an element are processor time already
COPY_IN_CACHE, COPY_IN_MEMORY = "memcpy/float32/65536", "memcpy/float32/67108864"


def names_of(tables):
    """The rows of tq-bench that the tables name, each once, in order."""
    names = [COPY_IN_CACHE, COPY_IN_MEMORY]
    for table in tables.values():
        for row in table["rows"]:
            for cell in row[1:]:
                names += cell if isinstance(cell, list) else [cell]
    return list(dict.fromkeys(name for name in names if name))


def require_rows(names, known, where):
    """Throws: ValueError with the names that are not known. Processors without AVX-512 have no ceilings."""
    missing = [name for name in names if name not in known and not name.startswith("ceiling/")]
    if missing:
        raise ValueError(f"expected these rows in {where}, got none: {', '.join(missing)}")


def summarize(results):
    """The median and the minimum of each row of Google Benchmark's JSON: nanoseconds of the processor an element, and of a call."""
    units = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    runs = {}
    for run in results["benchmarks"]:
        if run.get("run_type") != "iteration":
            continue
        if run.get("error_occurred"):
            raise ValueError(f"{run['run_name']}: {run['error_message']}")
        awake = min(run["cpu_time"] / run["real_time"], 1.0)  # the share of the time in which the processor was ours
        element = run["ns_per_element"] if run["run_name"].startswith(BY_PROCESSOR) else run["ns_per_element"] * awake
        runs.setdefault(run["run_name"], []).append((element, run["real_time"] * awake * units[run["time_unit"]]))
    rows = {}
    for name, values in sorted(runs.items()):
        element, call = zip(*values)
        rows[name] = {"element": [rounded(statistics.median(element)), rounded(min(element))],
                      "call": [rounded(statistics.median(call)), rounded(min(call))]}
    return rows


def rounded(value):
    """Four significant digits."""
    return float(f"{value:.4g}")


def element_text(ns):
    """Nanoseconds an element: 0.047, 1.23, 61.6, 143."""
    return f"{ns:.3f}" if ns < 1 else f"{ns:.2f}" if ns < 10 else f"{ns:.1f}" if ns < 100 else f"{ns:.0f}"


def call_text(ns):
    """The time of a call with its unit: 97 ns, 12.0 us, 2.44 ms."""
    for unit, size in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if ns < 1e3 * size or unit == "ms":
            value = ns / size
            return f"{value:.0f} {unit}" if unit == "ns" or value >= 100 else f"{value:.3g} {unit}"


def cell_text(cell, form, rows):
    """A cell of a table."""
    if not cell or (isinstance(cell, list) and cell[1] not in rows):
        return ""
    if isinstance(cell, list):
        own, ceiling = (rows[name]["element"][1] for name in cell)
        return f"{ceiling / own:.2f}"
    median, least = rows[cell][form]
    text = element_text if form == "element" else call_text
    return f"{text(median)} ({text(least)})"


def table_text(table, rows):
    """A table of the page."""
    lines = [table["header"], ["---"] * len(table["header"])]
    for name, *cells in table["rows"]:
        if len(cells) + 1 != len(table["header"]):
            raise ValueError(f"{name}: expected {len(table['header']) - 1} cells, got {len(cells)}")
        lines.append([name] + [cell_text(cell, table["form"], rows) for cell in cells])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines).replace("| ---", "|---").replace("--- |", "---|")


def machine_text(measured):
    """The sentences about the machine, above the tables."""
    about, rows = measured["about"], measured["rows"]
    cache, memory = (rows[name]["element"] for name in (COPY_IN_CACHE, COPY_IN_MEMORY))
    note = f" {about['note']}" if about["note"] else ""
    return (f"{about['machine']}; {about['compiler']};\n{about['repetitions']} repetitions in random order; version of {about['date']}.\n"
            f"`memcpy` of the floats takes {element_text(cache[0])} ({element_text(cache[1])}) in cache and {element_text(memory[0])} "
            f"({element_text(memory[1])}) from memory,\nwhich is {8 / memory[1]:.0f} GB/s of bytes read and written.{note}\n")


def fill(page, tables, measured):
    """The page with its tables made anew. Throws: ValueError for rows that were not measured, and for tables that are not there."""
    require_rows(names_of(tables), measured["rows"], "the measured rows")
    found = [match.group(2) for match in MARKED.finditer(page)]
    wanted = ["machine", *tables]
    if sorted(found) != sorted(wanted):
        raise ValueError(f"expected the tables {', '.join(sorted(wanted))} in the page, got {', '.join(sorted(found))}")

    def replaced(match):
        name = match.group(2)
        text = machine_text(measured) if name == "machine" else "\n" + table_text(tables[name], measured["rows"]) + "\n"
        return match.group(1) + text + match.group(4)

    return MARKED.sub(replaced, page)


def listed(program):
    """The rows that tq-bench lists."""
    return subprocess.run([program, "--benchmark_list_tests=true"], check=True, capture_output=True, text=True).stdout.split()


def machine():
    """The processor and how many there are."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    fields = [dict(re.findall(r"^([^\t\n]+?)\s*: (.*)$", part, re.MULTILINE)) for part in text.strip().split("\n\n")]
    if not fields or "model name" not in fields[0]:
        return platform.machine()
    one = fields[0]
    virtual = "virtual machine, " if "hypervisor" in one.get("flags", "") else ""
    return f"{one['model name']} (family {one['cpu family']}, model {one['model']}), {virtual}{len(fields)} cores"


def compiler(program):
    """The compiler and the flags of a built program, from the cache of its build."""
    cache = pathlib.Path(program).resolve().parent.parent / "CMakeCache.txt"
    values = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(), re.MULTILINE))
    version = subprocess.run([values["CMAKE_CXX_COMPILER"], "--version"], check=True, capture_output=True, text=True).stdout
    native = " -march=native" if values.get("TQ_NATIVE") == "ON" else ""
    return f"{version.splitlines()[0]}, `{values['CMAKE_CXX_FLAGS_RELEASE']}{native}`"


def measure(program, repetitions, note, tables):
    """What a run of the rows in random order gives. Throws: ValueError for rows that tq-bench does not have."""
    names = names_of(tables)
    require_rows(names, listed(program), program)
    chosen = "|".join(map(re.escape, names)).replace("\\-", "-")
    out = subprocess.run([program, f"--benchmark_filter=^({chosen})$", "--benchmark_enable_random_interleaving=true",
                          f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.01", "--benchmark_format=json"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    date = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    about = {"machine": machine(), "compiler": compiler(program), "date": date, "repetitions": repetitions, "note": note}
    return {"about": about, "rows": summarize(json.loads(out))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="a built tq-bench; without it the preset `bench` builds one")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--note", default="", help="a sentence about the machine, such as \"The machine was busy.\"")
    parser.add_argument("--fill", action="store_true", help="make the page from measured.json, without a run")
    parser.add_argument("--check", action="store_true", help="compare the page with measured.json, without a run")
    options = parser.parse_args()
    tables = json.loads(TABLES.read_text())
    if not (options.fill or options.check):
        program = options.program
        if program is None:
            subprocess.run(["cmake", "--workflow", "--preset", "bench"], cwd=ROOT, check=True)
            program = str(ROOT / "build/bench/bin/tq-bench")
        measured = measure(program, options.repetitions, options.note, tables)
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n")
    elif options.program is not None:
        require_rows(names_of(tables), listed(options.program), options.program)
    page = PAGE.read_text()
    filled = fill(page, tables, json.loads(MEASURED.read_text()))
    if options.check and filled != page:
        raise ValueError(f"{PAGE.name}: expected the tables of measured.json, got others; run.py --fill makes them")
    if not options.check:
        PAGE.write_text(filled)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"run.py: {error}")
