#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says; `tools/check_format.sh --fix` mends it.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
find src tests bench -name '*.h' -o -name '*.cc' -o -name '*.inc' | sort | xargs -r clang-format-19 "${mode[@]}"
