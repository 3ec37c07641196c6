#!/usr/bin/env bash
# Makes small roots of other distributions, to run the portable program in: tools/portable_roots.sh FOLDER [NAME..]
# Names: bullseye bookworm trixie (Debian), jammy noble (Ubuntu). Needs root and mmdebstrap. Then:
#   FORETOKEN_ROOTS=FOLDER ctest --test-dir build/release -R portable --verbose
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
folder=$1
shift
[ $# -gt 0 ] || set -- bullseye bookworm trixie noble

mkdir -p "$folder"
for name in "$@"; do
  [ -e "$folder/$name/etc/os-release" ] && continue
  case $name in
    bullseye|bookworm|trixie) mirror=("http://deb.debian.org/debian") ;;
    # The keys of Ubuntu are in its package ubuntu-keyring, which may not be installed.
    jammy|noble) mirror=("deb [trusted=yes] http://archive.ubuntu.com/ubuntu $name main") ;;
    *) echo "portable_roots: no root is known by the name $name" >&2; exit 2 ;;
  esac
  mmdebstrap --quiet --variant=minbase --include=python3 "$name" "$folder/$name" "${mirror[@]}"
done
ls "$folder"
