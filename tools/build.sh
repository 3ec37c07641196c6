#!/usr/bin/env bash
# Builds a preset, installing what is missing first: tools/build.sh [release|asan|tsan] [target...]
# The program is build/<preset>/foretoken. FORETOKEN_WERROR=ON: warnings end the build. asan is compiled by
# clang, with fuzzers (targets fuzz_<target>), where tools/find_clang.sh finds one.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
[ $# -gt 0 ] && shift

tools/setup.sh
options=(-DFORETOKEN_WERROR="${FORETOKEN_WERROR:-OFF}")
if [ "$preset" = asan ] && clang=$(tools/find_clang.sh); then
  options+=(-DCMAKE_CXX_COMPILER="$clang" -DFORETOKEN_FUZZ=ON -DFORETOKEN_SANITIZE=address,undefined,fuzzer-no-link)
fi
# Clones in different folders share what ccache holds.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
PATH="$PATH:$HOME/.cargo/bin"
cmake --preset "$preset" --log-level=WARNING "${options[@]}"
cmake --build "build/$preset" ${1:+--target "$@"}
