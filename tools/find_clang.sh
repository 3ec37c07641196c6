#!/usr/bin/env bash
# Prints the newest clang++ that links a fuzzer with sanitizers, installing one where none is and packages
# may be installed (Debian: clang-19 and libclang-rt-19-dev). Exit code 1: there is none.
set -uo pipefail

probe=$(mktemp)
trap 'rm -f "$probe"' EXIT

find_clang() {
  local clang
  for clang in clang++-{22,21,20,19,18,17,16,15,14} clang++; do
    command -v "$clang" >/dev/null || continue
    echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
      "$clang" -x c++ -fsanitize=fuzzer,address,undefined -o "$probe" - 2>/dev/null || continue
    echo "$clang"
    return
  done
  return 1
}

install_clang() {
  command -v apt-get >/dev/null || return
  local as_root=()
  [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && as_root=(sudo -n); }
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends clang-19 libclang-rt-19-dev; } >/dev/null 2>&1
}

find_clang && exit
install_clang
find_clang
