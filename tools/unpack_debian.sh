#!/usr/bin/env bash
# Unpacks packages of another Debian, with all that they need, into a new folder; nothing is installed:
#   tools/unpack_debian.sh FOLDER "SUITE ..." PACKAGE...    of the last suite where that has them
# They come from the mirror that this machine's apt uses. A program of them is run by the loader in the folder.
# Exit code 1: they cannot be had.
set -uo pipefail
root=$1 suites=$2
shift 2

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || exit 1
[ "$(dpkg --print-architecture)" = amd64 ] || exit 1
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keys" ] || exit 1
mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -m1 debian) || exit 1

work=$(mktemp -d "$root.apt.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
for suite in $suites; do echo "deb [signed-by=$keys] $mirror $suite main"; done >"$work/suites.list"
apt=(timeout 120 apt-get -qq -o "Dir::Etc::sourcelist=$work/suites.list" -o Dir::Etc::sourceparts=-
  -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null
  -o APT::Architecture=amd64 -o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)"
  -o Acquire::Retries=1 -o Acquire::http::Timeout=15)
"${apt[@]}" update || exit 1
"${apt[@]}" -y --no-install-recommends --download-only install -t "$suite" "$@" || exit 1

rm -rf "$root"
for folder in bin sbin lib lib64; do
  mkdir -p "$root/usr/$folder"
  ln -s "usr/$folder" "$root/$folder"
done
for archive in "$work"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$archive" | tar -C "$root" --keep-directory-symlink -xf - || exit 1
done
