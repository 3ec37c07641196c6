#!/usr/bin/env bash
# Builds a preset, installing what is missing first: tools/build.sh [release|asan|tsan] [target...]
# The program is build/<preset>/foretoken. FORETOKEN_WERROR=ON: warnings end the build.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
[ $# -gt 0 ] && shift

tools/setup.sh
# Clones in different folders share what ccache holds.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
PATH="$PATH:$HOME/.cargo/bin"
cmake --preset "$preset" --log-level=WARNING -DFORETOKEN_WERROR="${FORETOKEN_WERROR:-OFF}"
cmake --build "build/$preset" ${1:+--target "$@"}
