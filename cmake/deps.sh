#!/bin/sh
# Installs what tq's build needs, on Debian and Ubuntu. `--ci` adds what .ci/run uses besides: the second compiler, the cross
# compiler, the emulators, pkg-config, the libraries of optional headers (oneTBB, MPI), and a browser.
set -eu

build="g++ ccache cmake ninja-build libxsimd-dev libeigen3-dev nlohmann-json3-dev catch2 libbenchmark-dev libcli11-dev zlib1g-dev"
ci="clang doxygen libomp-dev libtbb-dev libopenmpi-dev openmpi-bin pkg-config qemu-user g++-aarch64-linux-gnu"
# Ubuntu has no browser as a package; the test of pages is left out there.
if grep -q '^ID=debian' /etc/os-release 2>/dev/null; then ci="$ci chromium"; fi

case "${1:-}" in
  "") packages=$build ;;
  --ci) packages="$build $ci" ;;
  *) echo "usage: sh cmake/deps.sh [--ci]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null 2>&1; then
  cat >&2 <<TEXT
This script knows Debian and Ubuntu only. Install, by your system's means:
  a C++20 compiler, CMake 3.25 or later (3.22 without presets), Ninja
  ccache, if you compile more than once
  xsimd 8 or later (headers), Eigen 3.3 or later, nlohmann_json 3.9 or later, zlib
  for the tests Catch2 2.13 or 3, for the benchmarks Google Benchmark, for the command line tool CLI11
  if you want the headers that need them: oneTBB, MPI
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
if [ -n "$missing" ]; then
  apt_get update
  # shellcheck disable=SC2086
  apt_get install --no-install-recommends $missing
fi

if [ "${1:-}" = --ci ]; then
  # The sanitizer and fuzzer runtimes of clang: a package named after its version, or a part of clang itself.
  runtime=libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev
  installed "$runtime" || apt_get install --no-install-recommends "$runtime" || true
  # The version of repository/format. Systems without this package leave that test out.
  installed clang-format-19 || apt_get install --no-install-recommends clang-format-19 || true
fi
echo "cmake/deps.sh: everything is installed"
