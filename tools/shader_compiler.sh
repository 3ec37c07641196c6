#!/usr/bin/env bash
# Runs a program of a newer Debian's shader tools, for the sources that Debian 12's glslang does not
# know (tools/shaders.sh): tools/shader_compiler.sh glslangValidator|spirv-val [arguments]
#
# The tools are unpacked into a folder (tools/unpack_debian.sh). Exits with 77 where they cannot be had.
#   FORETOKEN_SHADER_TOOLS  the folder; build/shader_tools by default. It is kept and used again
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=${FORETOKEN_SHADER_TOOLS:-$here/build/shader_tools}

unpack() {
  "$here/tools/unpack_debian.sh" "$work/unpacked" sid glslang-tools spirv-tools libc6 libstdc++6 &&
    mv "$work/unpacked" "$work/root"
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
