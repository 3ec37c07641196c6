#!/usr/bin/env bash
# Installs what building foretoken needs and this machine lacks (packages of Debian 12 and newer, or of
# Ubuntu, and a Rust tool chain). Quick and silent when everything is there; needs root or sudo only
# otherwise.
#   tools/setup.sh            for the program
#   tools/setup.sh --suites   for the suites, too
#   tools/setup.sh --tests    for running all of them, too: a formatter and, which are large, a browser, the
#                             cross compiler and the processor in software of tools/aarch64.sh
set -euo pipefail

packages=(
  cmake ninja-build g++ make
  libspdlog-dev libfmt-dev prometheus-cpp-dev libcurl4-openssl-dev libssl-dev libvulkan-dev
  python3 curl ca-certificates
)
optional=()
case "${1:-}" in
  --suites | --tests) packages+=(ccache libgtest-dev libgmock-dev python3-venv) ;;&
  --tests) optional=(clang-format-19 chromium chromium-driver g++-aarch64-linux-gnu qemu-user-static) ;;
esac

# The oldest Boost that will do: distributions name theirs by its minor version (libboost1.83-dev).
boost_minor=81

# The crates of src/text/rust need a compiler of this minor version of Rust 1 or newer.
here=$(cd "$(dirname "$0")/.." && pwd)
rust_minor=$("$here/tools/find_rust.sh" --needed)

has_package() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

has_rust() {
  "$here/tools/find_rust.sh" >/dev/null
}

has_boost() {
  local name minor
  while read -r name; do
    minor=${name#libboost1.}
    minor=${minor%-dev}
    [ "$minor" -ge "$boost_minor" ] && has_package "$name" && has_package "libboost-json1.$minor-dev" && return 0
  done < <(dpkg-query -W -f='${Package}\n' 'libboost1.*-dev' 2>/dev/null | grep -E '^libboost1\.[0-9]+-dev$')
  return 1
}

# "NAME VERSION" of those packages that the distribution can install. apt knows the names of others, too:
# what something else merely mentions has no candidate.
candidates() {
  [ $# -eq 0 ] && return
  apt-cache policy "$@" 2>/dev/null | awk '
    /^[^ ].*:$/ { name = substr($0, 1, length($0) - 1) }
    $1 == "Candidate:" && $2 != "(none)" { print name, $2 }'
}

# The packages of the oldest Boost on offer that is new enough: the nearest to the one that is tested.
boost_packages() {
  local minor
  for minor in $(apt-cache pkgnames libboost1. | sed -n 's/^libboost1\.\([0-9]*\)-dev$/\1/p' | sort -n); do
    [ "$minor" -ge "$boost_minor" ] || continue
    local wanted=("libboost1.$minor-dev" "libboost-json1.$minor-dev")
    [ "$(candidates "${wanted[@]}" | wc -l)" -eq 2 ] && echo "${wanted[@]}" && return
  done
}

# The packages of a new enough Rust: Debian keeps newer ones for browsers under names of their own, Ubuntu
# by their version.
rust_packages() {
  local cargo version
  for cargo in cargo-web cargo $(apt-cache pkgnames cargo-1. | grep -E '^cargo-1\.[0-9]+$' | sort -V); do
    version=$(candidates "$cargo" | awk '{ print $2 }')
    version=${version#*:}   # 1.87.0+dfsg3-1
    case "$version" in
      1.*) version=${version#1.}; [ "${version%%.*}" -ge "$rust_minor" ] && echo "$cargo rustc${cargo#cargo}" && return ;;
    esac
  done
}

missing=()
for package in "${packages[@]}"; do
  has_package "$package" || missing+=("$package")
done
wished=()
for package in "${optional[@]}"; do
  has_package "$package" || wished+=("$package")
done
needs_boost=false
has_boost || needs_boost=true
needs_rust=false
has_rust || needs_rust=true
if [ ${#missing[@]} -eq 0 ] && [ ${#wished[@]} -eq 0 ] && ! $needs_boost && ! $needs_rust; then exit 0; fi

names() {  # what is missing, in words
  local text="${missing[*]}"
  $needs_boost && text+=" Boost 1.$boost_minor or newer with Boost.JSON,"
  $needs_rust && text+=" Rust 1.$rust_minor or newer,"
  text=${text%,}
  echo "${text# }"
}

if ! command -v apt-get >/dev/null; then
  [ -z "$(names)" ] && exit 0
  echo "setup: this system has no apt-get; please install: $(names)" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    [ -z "$(names)" ] && exit 0
    echo "setup: run as root (or install sudo) to install: $(names)" >&2
    exit 1
  fi
  as_root=(sudo)
fi

apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
"${apt[@]}" update

install=()
lacking=()
for package in "${missing[@]}"; do
  if [ -n "$(candidates "$package")" ]; then install+=("$package"); else lacking+=("$package"); fi
done
for package in "${wished[@]}"; do
  if [ -n "$(candidates "$package")" ]; then
    install+=("$package")
  else
    echo "setup: going on without $package, which this distribution does not offer"
  fi
done
if $needs_boost; then
  read -r -a found <<<"$(boost_packages)"
  install+=("${found[@]}")
  [ ${#found[@]} -gt 0 ] || lacking+=("Boost 1.$boost_minor or newer (libboost1.N-dev with libboost-json1.N-dev)")
fi
if $needs_rust; then
  read -r -a found <<<"$(rust_packages)"
  install+=("${found[@]}")
  [ ${#found[@]} -gt 0 ] || lacking+=("Rust 1.$rust_minor or newer (https://rustup.rs has it)")
fi
if [ ${#lacking[@]} -gt 0 ]; then
  list=$(printf '%s, ' "${lacking[@]}")
  echo "setup: this distribution does not offer ${list%, }; please install that by hand and start again" >&2
  exit 1
fi
[ ${#install[@]} -eq 0 ] && exit 0

echo "setup: installing ${install[*]}"
"${apt[@]}" install -y --no-install-recommends "${install[@]}"
has_rust || { echo "setup: no cargo 1.$rust_minor or newer after the installation" >&2; exit 1; }
