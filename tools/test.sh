#!/usr/bin/env bash
# Builds and runs all tests: every suite in the release build, the suites labelled `small` once more
# under the address and undefined-behaviour sanitizers, those labelled `threads` under the thread
# sanitizer, and a minute of all fuzzers. The last line counts test cases: "N passed, N failed, N
# skipped"; the exit code is 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.."

build_failed() {
  echo "test: the $1 build failed"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

# Runs the suites of a preset; results (one JUnit file, one JSON file per GoogleTest binary) land in
# build/<preset>/results.
run_suites() {
  local preset=$1
  shift
  rm -rf "build/$preset/results"
  mkdir -p "build/$preset/results"
  GTEST_OUTPUT="json:$PWD/build/$preset/results/" ctest --test-dir "build/$preset" --output-on-failure \
    --no-tests=error --timeout 1200 --output-junit "$PWD/build/$preset/results/ctest.xml" "$@"
}

tools/setup.sh --tests || echo "test: going on without what only tests need"
export FORETOKEN_WERROR=ON
tools/build.sh release || build_failed release
tools/build.sh asan small_tests || build_failed sanitizer
tools/build.sh tsan tsan_tests || build_failed "thread sanitizer"

# A few at a time, not one per core: the suites have threads of their own.
run_suites release -j2
run_suites asan -j2 -L '^small$'
run_suites tsan -j2 -L '^threads$'
tools/fuzz.sh 8 # seconds for each of some dozen targets, as many at a time as there are cores

python3 tools/count_tests.py build/release/results build/asan/results build/tsan/results build/fuzz/results
