#!/usr/bin/env bash
# Installs what the fuzzers need beside tools/setup.sh: a clang with libFuzzer and sanitizers. Never
# fails: where no such package is offered, or may be installed, tools/fuzz.sh says that it skips.
set -uo pipefail

packages=(clang-19 libclang-rt-19-dev)
has_package() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}
missing=()
for package in "${packages[@]}"; do
  has_package "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
command -v apt-get >/dev/null || exit 0
as_root=()
[ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && as_root=(sudo -n); }

echo "setup: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
{ "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 ||
  echo "setup: ${missing[*]} could not be installed"
exit 0
