#!/usr/bin/env bash
# Prints the folder of a cargo that is new enough for the crates of src/text/rust: that of PATH, rustup's, or
# the oldest of those that Ubuntu keeps beside its own in folders by version. Exit code 1: there is none.
#   tools/find_rust.sh --needed    prints which minor version of Rust 1 that is
set -uo pipefail

crates=$(dirname "$0")/../src/text/rust/Cargo.toml
rust_minor=$(sed -n 's/^rust-version = "1\.\([0-9]*\)".*/\1/p' "$crates")
if [ "${1:-}" = --needed ]; then
  echo "$rust_minor"
  exit 0
fi

for cargo in "$(command -v cargo)" "${HOME:-}/.cargo/bin/cargo" $(printf '%s\n' /usr/lib/rust-1.*/bin/cargo | sort -V); do
  [ -x "$cargo" ] || continue
  folder=$(dirname "$cargo")
  minor=$(PATH="$folder:$PATH" "$cargo" --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
  if [ -n "$minor" ] && [ "$minor" -ge "$rust_minor" ]; then
    echo "$folder"
    exit 0
  fi
done
exit 1
