#!/usr/bin/env bash
# Runs real clients against a server.
#   run.sh --url http://127.0.0.1:30000      a server that runs already
#   run.sh [--binary FILE] [--model DIR]     starts one on a free port and ends it afterwards
#   --scripted FILE                          the server that says what it is told to, for test_scripted.py
#   --venv DIR                               where the Python packages live (made on first use)
# Further arguments go to Python's unittest, e.g. test_openai.ChatTest. Exit code 77: skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
url= scripted=$root/build/release/tests/clients/scripted_server binary=$root/build/release/foretoken model=$root/models/demo venv=$root/build/clients_venv
while [ $# -gt 0 ]; do
  case "$1" in
    --url) url=$2 && shift 2 ;;
    --binary) binary=$2 && shift 2 ;;
    --model) model=$2 && shift 2 ;;
    --scripted) scripted=$2 && shift 2 ;;
    --venv) venv=$2 && shift 2 ;;
    *) break ;;
  esac
done

skip() {
  echo "skipped: $1"
  exit 77
}

command -v python3 >/dev/null || skip "there is no python3"
python=python3
packages='import anthropic, huggingface_hub, jsonschema, openai, requests'
if ! python3 -c "$packages" 2>/dev/null; then
  python=$venv/bin/python
  if ! "$python" -c "$packages" 2>/dev/null; then
    python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 cannot make a virtual environment"
    "$venv/bin/pip" install -q --retries 1 --timeout 15 -r "$here/requirements.txt" >/dev/null 2>&1 ||
      skip "pip cannot install the packages of requirements.txt"
  fi
fi

if [ -z "$url" ]; then
  [ -x "$binary" ] || skip "there is no program at $binary"
  [ -e "$model/model.safetensors" ] || skip "there is no model in $model"
  log=$(mktemp)
  "$binary" serve --model "$model" --port 0 --served-model-name demo --enable-metrics \
    --enable-cache-report >"$log" 2>&1 &
  server=$!
  trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -f "$log"' EXIT
  for _ in $(seq 600); do
    url=$(sed -n 's/.*Listening on \(http:[^ ]*\).*/\1/p' "$log")
    [ -n "$url" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$log"; exit 1; }
    sleep 0.1
  done
  [ -n "$url" ] || { cat "$log"; exit 1; }
fi

# The other server, where it was built.
scripted_url=
if [ -x "$scripted" ]; then
  scripted_log=$(mktemp)
  "$scripted" 2>"$scripted_log" &
  scripted_server=$!
  trap 'kill ${server:-} "$scripted_server" 2>/dev/null || true; wait; rm -f "${log:-}" "$scripted_log"' EXIT
  for _ in $(seq 100); do
    scripted_url=$(sed -n 's/.*Listening on \(http:[^ ]*\).*/\1/p' "$scripted_log")
    [ -n "$scripted_url" ] && break
    sleep 0.1
  done
  [ -n "$scripted_url" ] || { cat "$scripted_log"; exit 1; }
fi
export FORETOKEN_SCRIPTED_URL=$scripted_url FORETOKEN_PROGRAM=$binary PYTHONPATH=$root/tests/hub

cd "$here"
status=0
if [ $# -gt 0 ]; then
  FORETOKEN_URL=$url "$python" -m unittest "$@" || status=$?
else
  FORETOKEN_URL=$url "$python" -m unittest discover -p 'test_*.py' || status=$?
fi
[ $status -eq 0 ] || [ -z "${log:-}" ] || tail -20 "$log"
exit $status
