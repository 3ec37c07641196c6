#!/usr/bin/env bash
# Runs a program of a newer Debian's shader tools, for the sources that Debian 12's glslang does not
# know (tools/shaders.sh): tools/shader_compiler.sh glslangValidator|spirv-val [arguments]
#
# The tools are unpacked into a folder from the mirror that this machine's apt uses, with their own C
# library and loader; nothing is installed. Exits with 77 where they cannot be had.
#   FORETOKEN_SHADER_TOOLS  the folder; build/shader_tools by default. It is kept and used again
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=${FORETOKEN_SHADER_TOOLS:-$here/build/shader_tools}
suite=sid

unpack() {
  local root="$work/unpacked" mirror folder archive
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  [ "$(dpkg --print-architecture)" = amd64 ] || return 1
  mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -m1 debian) || return 1
  rm -rf "$root"
  for folder in bin sbin lib lib64; do
    mkdir -p "$root/usr/$folder"
    ln -s "usr/$folder" "$root/$folder"
  done
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/suite.list"
  local apt=(timeout 120 apt-get -qq -o "Dir::Etc::sourcelist=$work/suite.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null
    -o APT::Architecture=amd64 -o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)"
    -o Acquire::Retries=1 -o Acquire::http::Timeout=15)
  "${apt[@]}" update || return 1
  "${apt[@]}" -y --no-install-recommends --download-only install glslang-tools spirv-tools libc6 libstdc++6 || return 1
  for archive in "$work"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$archive" | tar -C "$root" --keep-directory-symlink -xf - || return 1
  done
  rm -rf "$work/lists" "$work/cache"
  mv "$root" "$work/root"
}

if [ ! -d "$work/root" ]; then
  mkdir -p "$work"
  (
    flock 9
    [ -d "$work/root" ] || unpack >"$work/unpack.log" 2>&1
  ) 9>"$work/lock"
fi
if [ ! -d "$work/root" ]; then
  echo "shader_compiler: the tools could not be had: see $work/unpack.log" >&2
  exit 77
fi
program=$work/root/usr/bin/$1
shift
exec "$work/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$work/root/usr/lib/x86_64-linux-gnu" "$program" "$@"
