#!/usr/bin/env bash
# Runs a program where it finds a software device of Vulkan: tools/vulkan_run.sh PROGRAM [arguments]
#
# The device is Mesa's lavapipe of a newer Debian, unpacked into a folder from the mirror that this
# machine's apt uses, with its own C library and loader; nothing is installed. Where that cannot be
# had, or FORETOKEN_VULKAN_ROOT is empty, the program runs as it is and finds what the machine has.
#   FORETOKEN_VULKAN_ROOT   the folder; build/vulkan by default. It is kept and used again
#   FORETOKEN_VULKAN_LAYERS 1: under the validation layer of the same Debian, synchronisation included
#   FORETOKEN_VULKAN_DRIVER the manifest (JSON) of another driver than lavapipe, for its loader
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=${FORETOKEN_VULKAN_ROOT-$here/build/vulkan}

icd=usr/share/vulkan/icd.d/lvp_icd.json
layers=usr/share/vulkan/explicit_layer.d

# Into a folder, if this file is among what the packages have.
unpack_with() {  # file, folder, suites, packages
  local file=$1 folder=$2
  shift 2
  "$here/tools/unpack_debian.sh" "$work/unpacked_$folder" "$@" || return 1
  [ -e "$work/unpacked_$folder/$file" ] || return 1
  mv "$work/unpacked_$folder" "$work/$folder"
}
unpack() { unpack_with "$icd" root "trixie trixie-backports" mesa-vulkan-drivers libvulkan1 libc6 libstdc++6; }
# Beside the driver, in a folder of its own.
unpack_layers() { unpack_with "$layers" layers trixie vulkan-validationlayers; }

# What is not there yet and did not fail within the last hour.
unpack_once() {  # folder, function
  [ -d "$work/$1" ] && return
  [ -n "$(find "$work/failed_$1" -mmin -60 2>/dev/null)" ] && return
  "$2" >"$work/unpack_$1.log" 2>&1 && return
  touch "$work/failed_$1"
  echo "vulkan: $1 could not be had: see $work/unpack_$1.log" >&2
}

wants_layers=${FORETOKEN_VULKAN_LAYERS:-0}
if [ -n "$work" ] && { [ ! -d "$work/root" ] || { [ "$wants_layers" = 1 ] && [ ! -d "$work/layers" ]; }; }; then
  mkdir -p "$work"
  # One of several that start at once unpacks; the others wait for it.
  (
    flock 9
    unpack_once root unpack
    [ "$wants_layers" = 1 ] && unpack_once layers unpack_layers
  ) 9>"$work/lock"
fi

if [ -z "$work" ] || [ ! -d "$work/root" ]; then exec "$@"; fi
libraries=$work/root/usr/lib/x86_64-linux-gnu
if [ "$wants_layers" = 1 ]; then
  if [ ! -d "$work/layers" ]; then
    echo "vulkan: no validation layer" >&2
    exit 77
  fi
  libraries+=:$work/layers/usr/lib/x86_64-linux-gnu
  export VK_LAYER_PATH=$work/layers/$layers VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
  export VK_LAYER_VALIDATE_SYNC=1 VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1
fi
export VK_DRIVER_FILES=${FORETOKEN_VULKAN_DRIVER:-$work/root/$icd}
export VK_ICD_FILENAMES=$VK_DRIVER_FILES  # of older loaders
exec "$work/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$@"
