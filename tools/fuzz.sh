#!/usr/bin/env bash
# Builds the fuzzers (preset `asan`, clang with libFuzzer) and runs them, as many at a time as there are
# cores: tools/fuzz.sh [seconds per target, 60] [target...]
# Inputs that reached something new are kept in build/fuzz/corpus and used by the next run; what ends a
# target is an artifact in build/fuzz/artifacts and makes the exit code 1. Where no such clang is
# installed, nothing runs and the last line says so. Results for tools/count_tests.py land in
# build/fuzz/results.
set -uo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(find tests/fuzz/corpus -mindepth 1 -maxdepth 1 -printf '%f\n' | sort))

out=$PWD/build/fuzz
mkdir -p "$out"/{corpus,artifacts,logs,results}
rm -f "$out"/results/* "$out"/logs/*

# write_results STATUS TARGET...: appends one test case per target.
write_results() {
  local status=$1 target
  shift
  for target in "$@"; do
    echo "<testcase name=\"fuzz_$target\" status=\"$status\"/>" >>"$out/results/cases"
  done
}

finish() {
  { echo "<testsuite>"; cat "$out/results/cases"; echo "</testsuite>"; } >"$out/results/ctest.xml"
  exit "$1"
}

if ! tools/find_clang.sh >/dev/null; then
  echo "fuzz: skipped: no clang with libFuzzer here (on Debian: clang-19 and libclang-rt-19-dev)"
  write_results notrun "${targets[@]}"
  finish 0
fi
if ! tools/build.sh asan "${targets[@]/#/fuzz_}"; then
  echo "fuzz: the build failed"
  write_results fail "${targets[@]}"
  finish 1
fi

run_target() {
  local target=$1 log="$out/logs/$1.log" dictionary="tests/fuzz/dictionaries/$1.dict" status=0
  mkdir -p "$out/corpus/$target"
  UBSAN_OPTIONS=print_stacktrace=1 build/asan/tests/fuzz/"fuzz_$target" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$out/artifacts/$target-" $([ -f "$dictionary" ] && echo "-dict=$dictionary") \
    "$out/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  local executions
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if [ "$status" -eq 0 ]; then
    write_results run "$target"
    echo "fuzz: $target: ${executions:-0} executions, no fault"
  else
    write_results fail "$target"
    echo "fuzz: $target: A FAULT after ${executions:-some} executions:"
    grep -m 8 -E 'ERROR|SUMMARY|CHECK|terminate|what\(\)|runtime error|Test unit written' "$log" | sed 's/^/  /'
  fi
}

echo "fuzz: ${#targets[@]} targets, $seconds s each"
for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
  run_target "$target" &
done
wait
grep -q 'status="fail"' "$out/results/cases" && finish 1
finish 0
