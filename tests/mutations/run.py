#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows that the tests find faults: breaks one header at a time, and runs what must notice.

    python3 tests/mutations/run.py [name...]        those of table.json with these names, or all; run by hand

A mutation replaces a text that stands once in a header of include/tq. What it names of a preset is built and its test run,
in a worktree under build/mutations: the mutation is found where that does not compile or fails. One line each, and which
case of the test failed first. Ends with 1 where a mutation was not found, or where the tests fail without any.
"""
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
tree = root / "build" / "mutations" / "source"


def run(*command):
    return subprocess.run(command, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def checked(*command):
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def prepared():
    """The commit that is checked out, in a worktree whose objects the compiler's cache has."""
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(tree)], cwd=root, check=True, capture_output=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    checked("git", "checkout", "--force", "--detach", head)


def verdict(mutation):
    """What noticed, or None."""
    built = run("cmake", "--build", "--preset", mutation["preset"], "--target", mutation["target"])
    if built.returncode != 0:
        error = re.search(r"error: (.*)", built.stdout + built.stderr)
        return "does not compile: " + (error.group(1) if error else "?")
    tested = run("ctest", "--preset", mutation["preset"], "-R", f"^{re.escape(mutation['test'])}$", "--no-tests=error")
    if tested.returncode == 0:
        return None
    case = re.search(r"-{70,}\n(.+)\n-{70,}", tested.stdout)
    return case.group(1).strip() if case else "ends the program"


def main():
    table = json.loads((root / "tests/mutations/table.json").read_text())
    chosen = [m for m in table if not sys.argv[1:] or m["name"] in sys.argv[1:]]
    if not chosen:
        sys.exit("expected names of " + ", ".join(m["name"] for m in table))
    prepared()
    for preset in sorted({m["preset"] for m in chosen}):
        checked("cmake", "--preset", preset)
    missed = 0
    for preset, target, test in sorted({(m["preset"], m["target"], m["test"]) for m in chosen}):
        found = verdict({"preset": preset, "target": target, "test": test})
        if found is not None:
            sys.exit(f"{test} of {preset} fails without a mutation: {found}")
    for m in chosen:
        header = tree / "include/tq" / m["header"]
        text = header.read_text()
        if text.count(m["old"]) != 1:
            sys.exit(f"{m['name']}: expected the old text once in {m['header']}, got {text.count(m['old'])} times")
        header.write_text(text.replace(m["old"], m["new"]))
        try:
            found = verdict(m)
        finally:
            header.write_text(text)
        missed += found is None
        print(f"{'MISSED' if found is None else 'found '} {m['name']} ({m['header']}): {m['test']}: {found or 'passes'}", flush=True)
    print(f"{len(chosen) - missed} found, {missed} missed")
    sys.exit(1 if missed else 0)


main()
