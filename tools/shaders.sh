#!/usr/bin/env bash
# Compiles the shaders of the Vulkan backend into the words that are committed beside them:
# tools/shaders.sh [--check]. Who builds foretoken needs no compiler.
#
#   shaders/*.comp                glslangValidator and spirv-val of Debian 12 (glslang-tools,
#                                 spirv-tools)
#   shaders/matrix_units/*.comp   those of a newer Debian, because the others know no matrix units:
#                                 tools/shader_compiler.sh unpacks them where they are missing, which
#                                 takes the network. They are compiled only where they have changed.
#
#   --check   writes nothing: fails where the words were not made of these sources; where the
#             compilers are those that made them, it also compiles and compares
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
cd "$tools/../src/backend/vulkan"

sources_hash() { cat shaders/*.comp shaders/*.glsl | sha256sum | cut -d' ' -f1; }
compiler() { command -v glslangValidator >/dev/null && glslangValidator --version | sed -n 's/^Glslang Version: //p'; }
# Of matrix units: the sources, and what they include.
unit_hash() { cat shaders/matrix_units/*.comp shaders/{common,codes,matrices,matrix_at,rounded_sum}.glsl | sha256sum | cut -d' ' -f1; }
unit_compiler() { "$tools/shader_compiler.sh" glslangValidator --version | sed -n 's/^Glslang Version: //p'; }
has_unit_compiler() { [ -d "${FORETOKEN_SHADER_TOOLS:-$tools/../build/shader_tools}/root" ]; }

compile() {  # folder
  local source name
  for source in shaders/*.comp; do
    name=$(basename "$source" .comp)
    forms "$source" "$1/$name"
    # The form whose rows choose among matrices.
    if grep -q matrices.glsl "$source"; then forms "$source" "$1/${name}_chosen" -DCHOSEN; fi
  done
}
compile_units() {  # folder
  local source name
  for source in shaders/matrix_units/*.comp; do
    name=$(basename "$source" .comp)
    unit_words "$source" "$1/$name.words"
    if grep -q BF16 "$source"; then unit_words "$source" "$1/${name}_bf16.words" -DBF16; fi
    if grep -q -e fma_once -e rounded_sum.glsl "$source"; then unit_words "$source" "$1/${name}_doubles.words" -DDOUBLES; fi
  done
}

# As it is, and the form with doubles of those whose multiply-adds are rounded once.
forms() {  # source, result without its end, options
  local source=$1 result=$2
  shift 2
  usual_words "$source" "$result.words" "$@"
  if grep -q -e fma_once -e ' div(' -e curves.glsl -e head_row.glsl -e states.glsl -e rounded_sum.glsl "$source"; then usual_words "$source" "${result}_doubles.words" -DDOUBLES "$@"; fi
}

words() {  # what runs compilers, environment, source, result, options
  local run=$1 environment=$2 source=$3 result=$4
  shift 4
  "$run" glslangValidator --quiet -g0 --target-env "$environment" "$@" -Ishaders -o "$scratch/words.spv" "$source"
  "$run" spirv-val --target-env "$environment" --scalar-block-layout "$scratch/words.spv"
  as_words <"$scratch/words.spv" >"$result"
}
usual_words() { words command vulkan1.2 "$@"; }
unit_words() { words "$tools/shader_compiler.sh" vulkan1.3 "$@"; }
as_words() { od -An -v -t x4 -w32 | sed -e 's/ \([0-9a-f]\{8\}\)/0x\1, /g' -e 's/ $//'; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ "${1:-}" != --check ]; then
  mkdir -p spirv "$scratch/units"
  if grep -qsx "unit sources $(unit_hash)" spirv/made_of.txt; then
    units=$(grep '^unit' spirv/made_of.txt)
    mv spirv/*_units*.words "$scratch/units"
  else
    compile_units "$scratch/units"
    units="unit sources $(unit_hash)"$'\n'"unit compiler $(unit_compiler)"
  fi
  rm -f spirv/*.words
  mv "$scratch"/units/*.words spirv
  compile spirv
  { echo "sources $(sources_hash)"; echo "compiler $(compiler)"; echo "$units"; } >spirv/made_of.txt
  exit 0
fi

for made in "sources $(sources_hash)" "unit sources $(unit_hash)"; do
  if ! grep -qx "$made" spirv/made_of.txt; then
    echo "shaders: spirv/ was not made of these sources: run tools/shaders.sh" >&2
    exit 1
  fi
done
mkdir "$scratch/spirv"
compared=""
if grep -qx "compiler $(compiler)" spirv/made_of.txt; then
  compile "$scratch/spirv"
  compared="all but those of matrix units"
fi
if has_unit_compiler && grep -qx "unit compiler $(unit_compiler)" spirv/made_of.txt; then
  compile_units "$scratch/spirv"
  compared=${compared:+"all"}
  compared=${compared:-"those of matrix units"}
fi
for file in "$scratch"/spirv/*.words; do
  [ -e "$file" ] || continue
  cmp "$file" "spirv/$(basename "$file")"
done
if [ "$compared" = all ] && [ "$(ls "$scratch/spirv" | wc -l)" != "$(ls spirv/*.words | wc -l)" ]; then
  echo "shaders: spirv/ has words that no source makes" >&2
  exit 1
fi
echo "shaders: spirv/ was made of these sources; compiled again and compared: ${compared:-none, for want of the compilers}"
