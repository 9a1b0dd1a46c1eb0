#!/bin/sh
# Installs what tq's build needs, on Debian and Ubuntu. `--ci` adds the second compiler, the cross compiler and
# the emulators that .ci/run uses.
set -eu

build="g++ cmake ninja-build libxsimd-dev libeigen3-dev nlohmann-json3-dev catch2 libbenchmark-dev libcli11-dev zlib1g-dev"
ci="clang libomp-dev qemu-user g++-aarch64-linux-gnu"

case "${1:-}" in
  "") packages=$build ;;
  --ci) packages="$build $ci" ;;
  *) echo "usage: sh cmake/deps.sh [--ci]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null 2>&1; then
  cat >&2 <<TEXT
This script knows Debian and Ubuntu only. Install, by your system's means:
  a C++20 compiler, CMake 3.25 or later (3.22 without presets), Ninja
  xsimd 8 or later (headers), Eigen 3.3 or later, nlohmann_json 3.9 or later, zlib
  for the tests Catch2 2.13 or 3, for the benchmarks Google Benchmark, for the command line tool CLI11
TEXT
  exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then as_root=sudo; fi
export DEBIAN_FRONTEND=noninteractive
apt_get() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0 "$@" </dev/null; }

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
missing=
for p in $packages; do installed "$p" || missing="$missing $p"; done
if [ "${1:-}" = --ci ] && command -v clang++ >/dev/null 2>&1; then
  # The sanitizer runtimes of clang are a package of their own, named after its version.
  version=$(clang++ -dumpversion | cut -d. -f1)
  installed "libclang-rt-$version-dev" || missing="$missing libclang-rt-$version-dev"
fi
if [ -z "$missing" ]; then echo "cmake/deps.sh: everything is installed"; exit 0; fi

apt_get update
optional=
for p in $missing; do
  case $p in
    libclang-rt-*) optional=$p ;;  # older releases ship it inside clang itself
    *) set -- "$@" "$p" ;;
  esac
done
if [ "${1:-}" = --ci ]; then shift; fi
if [ $# -gt 0 ]; then apt_get install --no-install-recommends "$@"; fi
if [ -n "$optional" ]; then apt_get install --no-install-recommends "$optional" || true; fi
