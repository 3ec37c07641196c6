#!/usr/bin/env bash
# Installs what building and testing foretoken needs and this machine lacks (Debian 12 packages and a
# Rust tool chain). Quick and silent when everything is there; needs root or sudo only otherwise.
set -euo pipefail

packages=(
  cmake ninja-build g++ ccache make
  libboost1.81-dev libboost-json1.81-dev libspdlog-dev libfmt-dev prometheus-cpp-dev
  libcli11-dev libgtest-dev libgmock-dev
  clang-format-19 python3 python3-venv curl ca-certificates
)

# The crates of src/text/rust need a compiler of this minor version of Rust 1 or newer.
rust_minor=85

has_package() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

has_rust() {
  local minor
  minor=$(PATH="$PATH:$HOME/.cargo/bin" cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
  [ -n "$minor" ] && [ "$minor" -ge "$rust_minor" ]
}

missing=()
for package in "${packages[@]}"; do
  has_package "$package" || missing+=("$package")
done
has_rust || missing+=(cargo-web rustc-web)
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt-get; please install: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run as root (or install sudo) to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
has_rust || { echo "setup: no cargo 1.$rust_minor or newer after the installation" >&2; exit 1; }
