#!/usr/bin/env bash
# Cross-builds for aarch64 and runs the result on a processor in software: tools/aarch64.sh [COMMAND]
#
#   root         unpacks the libraries of aarch64 into build/aarch64_root, which is kept; installs nothing
#   build [T..]  and builds targets of the preset "aarch64" (backend_tests and operation_bits by default);
#                "foretoken", the whole program, needs Rust's library of aarch64, too (see find_rust below)
#   test FILE    and runs the op table, and compares what machines print with that of FILE, the
#                operation_bits of this machine. The default, with FILE of build/release
#   cells FILE   and compares cells of the invariance matrix: FILE is the cell_bits of this machine
#   run PROG ..  runs a program of build/aarch64; QEMU_CPU names the processor
#
# Needs g++-aarch64-linux-gnu, qemu-user-static (tools/setup.sh --tests) and a mirror of Debian or Ubuntu;
# ends with 77 where these cannot be had.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$here/build/aarch64_root
triple=aarch64-linux-gnu

skip() {
  echo "aarch64: skipped: $*" >&2
  exit 77
}

# ---- Libraries: those that this machine has for itself, for the other processor.
packages() {
  local minor
  echo libfmt-dev libspdlog-dev prometheus-cpp-dev libcurl4-openssl-dev libssl-dev libgtest-dev libgmock-dev libvulkan-dev
  minor=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 'libboost-json1.*-dev' 2>/dev/null |
    sed -n 's/^libboost-json1\.\([0-9]*\)-dev installed$/\1/p' | sort -n | tail -1)
  [ -n "$minor" ] && echo "libboost1.$minor-dev" "libboost-json1.$minor-dev"
}

# Rust's library, where the packages of Debian's compiler for browsers are installed: of the same version as that one.
rust_package() {
  dpkg-query -W -f='${db:Status-Status}' rustc-web 2>/dev/null | grep -qx installed && echo libstd-rust-web-dev
}

# A compiler brings its own C and C++ libraries, whose headers must not be there twice.
is_of_compiler() {
  case "$1" in
    libc6* | libc-dev* | linux-libc-dev* | libcrypt-dev* | libstdc++-* | libgcc-[0-9]* | gcc-* | lib*san[0-9]*) true ;;
    *) false ;;
  esac
}

unpack() {
  local work=$root.part archive folder
  rm -rf "$work"
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  printf 'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\n' >"$work/apt.conf"
  local apt=(timeout 300 env APT_CONFIG="$work/apt.conf" apt-get -qq -o "Dir::State::lists=$work/lists"
    -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null -o Debug::NoLocking=1
    -o "APT::Sandbox::User=$(id -un)" -o Acquire::Retries=2)
  "${apt[@]}" update || return 1
  # shellcheck disable=SC2046
  "${apt[@]}" -y --no-install-recommends --download-only install $(packages) $(rust_package) || return 1
  for folder in bin lib sbin; do
    mkdir -p "$work/root/usr/$folder"
    ln -s "usr/$folder" "$work/root/$folder"
  done
  for archive in "$work"/cache/archives/*.deb; do
    is_of_compiler "$(basename "$archive")" && continue
    dpkg-deb --fsys-tarfile "$archive" |
      tar -C "$work/root" --keep-directory-symlink --exclude=./usr/share/doc --exclude=./usr/src -xf - || return 1
  done
  mv "$work/root" "$root" && rm -rf "$work"
}

make_root() {
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "this system has no apt-get"
  command -v $triple-g++ >/dev/null || skip "no $triple-g++ (package g++-$triple)"
  mkdir -p "$here/build"
  # One of several that start at once unpacks; the others wait for it.
  (
    flock 9
    [ -d "$root" ] && exit
    [ -n "$(find "$root.failed" -mmin -60 2>/dev/null)" ] && exit  # an hour's rest
    unpack >"$root.log" 2>&1 || touch "$root.failed"
  ) 9>"$root.lock"
  [ -d "$root" ] || skip "the libraries could not be had: see $root.log"
}

emulator() {
  command -v qemu-aarch64-static || command -v qemu-aarch64 || skip "no qemu-aarch64 (package qemu-user-static)"
}

# For crates: the compiler's own library of aarch64 (rustup target add aarch64-unknown-linux-gnu), or that of the root.
rust_options=()
find_rust() {
  local target=aarch64-unknown-linux-gnu kept=$root/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$triple-gcc
  [ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ] && return
  [ -d "$kept" ] || return
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="--sysroot=$root/usr" RUSTC=/usr/bin/rustc
  rust_options=(-DCARGO=/usr/bin/cargo)
}

build() {
  export CCACHE_BASEDIR="$here" CCACHE_NOHASHDIR=1 PATH="$PATH:$HOME/.cargo/bin"
  cd "$here" || exit 1
  find_rust
  cmake --preset aarch64 --log-level=WARNING "${rust_options[@]}" -DFORETOKEN_WERROR="${FORETOKEN_WERROR:-OFF}" &&
    cmake --build build/aarch64 --target "$@"
}

on() { QEMU_CPU=$1 "$qemu" -L "/usr/$triple" -E "LD_LIBRARY_PATH=$root/usr/lib/$triple" "${@:2}"; }

# Without USDOT; without SDOT, too. "max" has all that the emulator knows.
lesser=(neoverse-n1 cortex-a72)
# Whole shapes take an emulator minutes: one test of each kind, and what depends on the processor.
table='Isas/V16*:V16*:Rows.*:KernelCheck.*:SelectIsa.*:SelectGemmOrder.*:DetectCpu.*:*GemmKernelTest.denormal*:*GemmKernelTest.a_row_alone*'
checks='KernelCheck.*:DetectCpu.*'

# Prints "same" or the first lines that differ.
same() {
  local found=$1 expected=$2 what=$3
  if [ -n "$found" ] && diff <(echo "$expected") <(echo "$found") | head -20 && [ "$found" = "$expected" ]; then
    echo "aarch64: $what: $(echo "$found" | wc -l) hashes of this machine"
  else
    echo "aarch64: $what differs from this machine" >&2
    return 1
  fi
}

run_tests() {
  local native=$1 cpu bits=$here/build/aarch64/tests/machines/operation_bits
  local suite=$here/build/aarch64/src/backend/backend_tests expected failures=0
  expected=$("$native") || { echo "aarch64: $native failed" >&2; return 1; }
  on max "$suite" --gtest_brief=1 --gtest_filter="$table" || failures=1
  same "$(on max "$bits")" "$expected" max || failures=1
  for cpu in "${lesser[@]}"; do
    on "$cpu" "$suite" --gtest_brief=1 --gtest_filter="$checks" || failures=1
    same "$(on "$cpu" "$bits" neon)" "$expected" "$cpu" || failures=1
  done
  same "$(on max "$bits" scalar)" "$expected" "max, scalar" || failures=1
  return $failures
}

run_cells() {
  local expected
  expected=$("$1") || { echo "aarch64: $1 failed" >&2; return 1; }
  same "$(on max "$here/build/aarch64/tests/machines/cell_bits")" "$expected" "max, cells"
}

command=${1:-test}
[ $# -gt 0 ] && shift
case "$command" in
  root) make_root ;;
  build)
    make_root
    [ $# -gt 0 ] || set -- backend_tests operation_bits
    build "$@"
    ;;
  test)
    make_root
    qemu=$(emulator) || exit 77
    build backend_tests operation_bits || exit 1
    run_tests "${1:-$here/build/release/tests/machines/operation_bits}"
    ;;
  cells)
    make_root
    qemu=$(emulator) || exit 77
    build cell_bits || exit 1
    run_cells "${1:-$here/build/release/tests/machines/cell_bits}"
    ;;
  run)
    qemu=$(emulator) || exit 77
    on "${QEMU_CPU:-max}" "$@"
    ;;
  *)
    sed -n '2,13p' "$0" >&2
    exit 2
    ;;
esac
