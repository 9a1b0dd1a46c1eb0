#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks run.py of benchmarks/performance on a tiny run, and the page of the repository against its recorded one.

    python3 check.py FOLDER
"""
import json
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))
import run  # noqa: E402

TABLES = {
    "some": {"form": "element", "header": ["operation", "in cache", "of the ceiling"],
             "rows": [["a", "a/1", ["a/1", "top/1"]], ["b", "b/1", ""]]},
    "calls": {"form": "call", "header": ["a call", "time"], "rows": [["b", "b/1"]]},
}
PAGE = """Words.
<!-- table: machine -->
old
<!-- end -->
<!-- table: some -->
<!-- end -->
More words.
<!-- table: calls -->

| old |

<!-- end -->
"""
FILLED = """Words.
<!-- table: machine -->
A processor, 2 cores; a compiler, `-O3`;
3 repetitions in random order; version of 2026-01-02.
`memcpy` of the floats takes 0.080 (0.070) in cache and 0.400 (0.320) from memory,
which is 25 GB/s of bytes read and written. Busy.
<!-- end -->
<!-- table: some -->

| operation | in cache | of the ceiling |
|---|---|---|
| a | 0.050 (0.040) | 0.50 |
| b | 12.5 (12.0) |  |

<!-- end -->
More words.
<!-- table: calls -->

| a call | time |
|---|---|
| b | 2 us (1.5 us) |

<!-- end -->
"""


def results():
    """Google Benchmark's JSON of three repetitions, whose aggregates are not read."""
    times = {"a/1": (0.06, 0.04, 0.05), "b/1": (12.0, 13.0, 12.5), "top/1": (0.02, 0.03, 0.04),
             run.COPY_IN_CACHE: (0.07, 0.08, 0.09), run.COPY_IN_MEMORY: (0.5, 0.4, 0.32)}
    runs = [{"run_name": name, "run_type": "iteration", "ns_per_element": ns, "real_time": 2 * real,
             "cpu_time": real, "time_unit": "us"}
            for name, values in times.items() for ns, real in zip((2 * v for v in values), (2.0, 1.5, 7.0))]
    return {"benchmarks": runs + [{"run_name": "a/1", "run_type": "aggregate", "ns_per_element": 99.0}]}


def measured():
    about = {"machine": "A processor, 2 cores", "compiler": "a compiler, `-O3`", "date": "2026-01-02", "repetitions": 3, "note": "Busy."}
    return {"about": about, "rows": run.summarize(results())}


class Maker(unittest.TestCase):
    def test_fills_every_table(self):
        self.assertEqual(run.fill(PAGE, TABLES, measured()), FILLED)
        self.assertEqual(run.fill(FILLED, TABLES, measured()), FILLED)

    def test_names_rows_that_are_missing(self):
        short = measured()
        del short["rows"]["top/1"]
        with self.assertRaisesRegex(ValueError, "top/1"):
            run.fill(PAGE, TABLES, short)

    def test_leaves_out_ceilings_that_the_processor_does_not_have(self):
        rows = [["a", "a/1", ["a/1", "ceiling/a/1"]]]
        text = run.fill(PAGE, TABLES | {"some": TABLES["some"] | {"rows": rows}}, measured())
        self.assertIn("| a | 0.050 (0.040) |  |\n", text)

    def test_names_tables_that_are_missing(self):
        with self.assertRaisesRegex(ValueError, "expected the tables calls, machine, some in the page, got machine, some"):
            run.fill(PAGE[:PAGE.index("More words")], TABLES, measured())

    def test_names_rows_with_too_few_cells(self):
        with self.assertRaisesRegex(ValueError, "b: expected 1 cells, got 0"):
            run.fill(PAGE, TABLES | {"calls": TABLES["calls"] | {"rows": [["b"]]}}, measured())

    def test_names_rows_that_failed(self):
        with self.assertRaisesRegex(ValueError, "a/1: no memory"):
            run.summarize({"benchmarks": [{"run_name": "a/1", "run_type": "iteration", "error_occurred": True,
                                           "error_message": "no memory"}]})

    def test_writes_numbers_by_their_size(self):
        self.assertEqual([run.element_text(v) for v in (0.0474, 1.234, 61.62, 143.4)], ["0.047", "1.23", "61.6", "143"])
        self.assertEqual([run.call_text(v) for v in (97.4, 12040.0, 123456.0, 2.444e6)], ["97 ns", "12 us", "123 us", "2.44 ms"])

    def test_the_page_is_the_recorded_run(self):
        tables, record = (json.loads(path.read_text()) for path in (run.TABLES, run.MEASURED))
        page = run.PAGE.read_text()
        self.assertTrue(run.fill(page, tables, record) == page, "run.py --fill makes other tables")


if __name__ == "__main__":
    unittest.main()
