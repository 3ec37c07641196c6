#!/usr/bin/env bash
# Compiles the shaders of the Vulkan backend into the words that are committed beside them:
# tools/shaders.sh [--check]. Needs glslangValidator and spirv-val (Debian: glslang-tools,
# spirv-tools); who builds foretoken needs neither.
#   --check   writes nothing: fails where the words were not made of these sources; where the
#             compiler is the one that made them, it also compiles and compares
set -euo pipefail
cd "$(dirname "$0")/../src/backend/vulkan"

sources_hash() { cat shaders/*.comp shaders/*.glsl | sha256sum | cut -d' ' -f1; }
compiler() { command -v glslangValidator >/dev/null && glslangValidator --version | sed -n 's/^Glslang Version: //p'; }

compile() {  # folder
  local source name
  for source in shaders/*.comp; do
    name=$(basename "$source" .comp)
    forms "$source" "$1/$name"
    # The form whose rows choose among matrices.
    if grep -q matrices.glsl "$source"; then forms "$source" "$1/${name}_chosen" -DCHOSEN; fi
  done
  { echo "sources $(sources_hash)"; echo "compiler $(compiler)"; } >"$1/made_of.txt"
}

# As it is, and the form with doubles of those whose multiply-adds are rounded once.
forms() {  # source, result without its end, options
  local source=$1 result=$2
  shift 2
  words "$source" "$result.words" "$@"
  if grep -q -e fma_once -e ' div(' -e curves.glsl -e head_row.glsl -e states.glsl "$source"; then words "$source" "${result}_doubles.words" -DDOUBLES "$@"; fi
}

words() {  # source, result, options
  local source=$1 result=$2
  shift 2
  glslangValidator --quiet -g0 --target-env vulkan1.2 "$@" -Ishaders -o "$scratch/words.spv" "$source"
  spirv-val --target-env vulkan1.2 --scalar-block-layout "$scratch/words.spv"
  od -An -v -t x4 -w32 "$scratch/words.spv" | sed -e 's/ \([0-9a-f]\{8\}\)/0x\1, /g' -e 's/ $//' >"$result"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ "${1:-}" != --check ]; then
  mkdir -p spirv
  rm -f spirv/*.words
  compile spirv
  exit 0
fi

if ! grep -qx "sources $(sources_hash)" spirv/made_of.txt; then
  echo "shaders: spirv/ was not made of these sources: run tools/shaders.sh" >&2
  exit 1
fi
if ! grep -qx "compiler $(compiler)" spirv/made_of.txt; then
  echo "shaders: the sources are those of spirv/; the compiler that made it is not here"
  exit 0
fi
mkdir "$scratch/spirv"
compile "$scratch/spirv"
diff -rq "$scratch/spirv" spirv
echo "shaders: spirv/ is what the compiler makes of the sources"
