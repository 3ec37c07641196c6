#!/usr/bin/env bash
# Builds a preset, installing what is missing first: tools/build.sh [release|asan|tsan] [target...]
# The program is build/<preset>/foretoken; where only programs are asked for, nothing of the suites is wanted.
# FORETOKEN_ISAS=native: of the kernels no more than this machine takes by itself; never with suites.
# FORETOKEN_WERROR=ON: warnings end the build. asan is compiled by clang, with fuzzers (targets fuzz_<target>),
# where tools/find_clang.sh finds one.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
[ $# -gt 0 ] && shift

suites=OFF
grep -qs '^BUILD_TESTING:BOOL=ON' "build/$preset/CMakeCache.txt" && suites=ON
for target in "${@:-all}"; do
  case "$target" in foretoken | foretoken-bench | package_files) ;; *) suites=ON ;; esac
done
if [ $suites = ON ]; then tools/setup.sh --suites; else tools/setup.sh; fi
isas=${FORETOKEN_ISAS:-all}
[ $suites = ON ] && isas=all
options=(-DFORETOKEN_WERROR="${FORETOKEN_WERROR:-OFF}" -DFORETOKEN_ISAS="$isas" -DBUILD_TESTING=$suites)
if [ "$preset" = asan ] && clang=$(tools/find_clang.sh); then
  options+=(-DCMAKE_CXX_COMPILER="$clang" -DFORETOKEN_FUZZ=ON -DFORETOKEN_SANITIZE=address,undefined,fuzzer-no-link)
fi
# Clones in different folders share what ccache holds.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
PATH="$PATH:$HOME/.cargo/bin"
cmake --preset "$preset" --log-level=WARNING "${options[@]}"
cmake --build "build/$preset" ${1:+--target "$@"}
