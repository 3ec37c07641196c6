#!/usr/bin/env bash
# Runs two replicas behind routers: run.sh --binary FILE [--venv DIR] [arguments of unittest]. Exit code 77: skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
binary=$root/build/release/foretoken venv=$root/build/replicas_venv
while [ $# -gt 0 ]; do
  case "$1" in
    --binary) binary=$2 && shift 2 ;;
    --venv) venv=$2 && shift 2 ;;
    *) break ;;
  esac
done

skip() {
  echo "skipped: $1"
  exit 77
}

command -v python3 >/dev/null || skip "there is no python3"
if ! [ -x "$venv/bin/smg" ] || ! [ -x "$venv/bin/litellm" ]; then
  python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 cannot make a virtual environment"
  "$venv/bin/pip" install -q --retries 1 --timeout 15 -r "$here/requirements.txt" >/dev/null 2>&1 ||
    skip "pip cannot install the packages of requirements.txt"
fi
export FORETOKEN_PROGRAM=$binary PYTHONPATH=$root/tools
cd "$here"
exec "$venv/bin/python" -m unittest "${@:-replicas_test}"
