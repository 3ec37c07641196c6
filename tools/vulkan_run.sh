#!/usr/bin/env bash
# Runs a program where it finds a software device of Vulkan: tools/vulkan_run.sh PROGRAM [arguments]
#
# The device is Mesa's lavapipe of a newer Debian, unpacked into a folder from the mirror that this
# machine's apt uses, with its own C library and loader; nothing is installed. Where that cannot be
# had, or FORETOKEN_VULKAN_ROOT is empty, the program runs as it is and finds what the machine has.
#   FORETOKEN_VULKAN_ROOT   the folder; build/vulkan by default. It is kept and used again
#   FORETOKEN_VULKAN_DRIVER the manifest (JSON) of another driver than lavapipe, for its loader
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=${FORETOKEN_VULKAN_ROOT-$here/build/vulkan}

suites=(trixie trixie-backports)
driver=trixie-backports
icd=usr/share/vulkan/icd.d/lvp_icd.json

unpack() {
  local mirror suite list="$work/suites.list" archive root="$work/unpacked"
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  [ "$(dpkg --print-architecture)" = amd64 ] || return 1
  [ -r /usr/share/keyrings/debian-archive-keyring.gpg ] || return 1
  mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -m1 debian) || return 1
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  for suite in "${suites[@]}"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done >"$list"
  local apt=(timeout 120 apt-get -qq -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null
    -o APT::Architecture=amd64 -o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)"
    -o Acquire::Retries=1 -o Acquire::http::Timeout=15)
  "${apt[@]}" update || return 1
  "${apt[@]}" -y --no-install-recommends --download-only install -t "$driver" \
    mesa-vulkan-drivers libvulkan1 libc6 libstdc++6 || return 1
  rm -rf "$root"
  mkdir -p "$root"
  local folder
  for folder in bin sbin lib lib64; do
    mkdir -p "$root/usr/$folder"
    ln -s "usr/$folder" "$root/$folder"
  done
  for archive in "$work"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$archive" | tar -C "$root" --keep-directory-symlink -xf - || return 1
  done
  [ -e "$root/$icd" ] || return 1
  rm -rf "$work/lists" "$work/cache"
  mv "$root" "$work/root"
}

if [ -n "$work" ] && [ ! -d "$work/root" ]; then
  mkdir -p "$work"
  # One of several that start at once unpacks; the others wait for it.
  (
    flock 9
    [ -d "$work/root" ] && exit
    [ -n "$(find "$work/failed" -mmin -60 2>/dev/null)" ] && exit  # an hour's rest
    unpack >"$work/unpack.log" 2>&1 && exit
    touch "$work/failed"
    echo "vulkan: lavapipe could not be had: see $work/unpack.log" >&2
  ) 9>"$work/lock"
fi

if [ -z "$work" ] || [ ! -d "$work/root" ]; then exec "$@"; fi
libraries=$work/root/usr/lib/x86_64-linux-gnu
export VK_DRIVER_FILES=${FORETOKEN_VULKAN_DRIVER:-$work/root/$icd}
export VK_ICD_FILENAMES=$VK_DRIVER_FILES  # of older loaders
exec "$work/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$@"
