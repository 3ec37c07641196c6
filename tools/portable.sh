#!/usr/bin/env bash
# Makes the tarball, the Debian package and the wheel that run on any Linux with glibc 2.31 or newer:
# tools/portable.sh [OUT_FOLDER] (build/portable-out)
# Debian 12 on x86_64 with what tools/setup.sh installs; downloads headers of an older glibc.
# Nothing of this machine is in them, and the only time is the commit's (SOURCE_DATE_EPOCH, if set):
# the same commit makes the same files in any folder.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/portable-out}")

umask 022  # folders in the Debian package have its modes
tools/setup.sh
tools/portable_parts.py
PATH="$PATH:$HOME/.cargo/bin"
# What ccache kept for another folder may name files otherwise.
export CCACHE_DISABLE=1
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
fi
export SOURCE_DATE_EPOCH
cmake --preset portable --log-level=WARNING
cmake --build --preset portable --target package_files
tools/make_tarball.py build/portable "$out"
tools/make_wheel.py build/portable "$out"
(cd build/portable && cpack -G DEB -B "$out" >/dev/null && rm -r "$out/_CPack_Packages")
(cd "$out" && sha256sum foretoken*)
