#!/bin/sh
# matrix.sh [compiler...]: main.cpp with every legal flag on every instruction set, about half a minute each.
# Prints a line for each and fails if one is wrong. A combination that does not compile names why.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for compiler in ${*:-g++ clang++}; do
  for set in "-march=x86-64" "-msse4.1" "-msse4.2" "-mavx" "-mavx2 -mfma" "-mavx2" "-mavx2 -mfma -mno-f16c" \
             "-mavx512f" "-march=native"; do
    for flag in -funsigned-char -fshort-enums -fwrapv -ftrapv -fno-strict-aliasing -frounding-math \
                -fsignaling-nans; do
      # shellcheck disable=SC2086
      if ! $compiler -std=c++20 -O1 $set $flag -I "$root/include" "$root/tests/legal_flags/main.cpp" \
           -o "$work/program" 2>"$work/errors"; then
        result="does not compile: $(grep -m1 error "$work/errors")"
        status=1
      elif "$work/program" >"$work/output"; then
        result=right
      else
        result="WRONG: $(head -1 "$work/output")"
        status=1
      fi
      echo "$compiler $set $flag: $result"
    done
  done
done
exit $status
