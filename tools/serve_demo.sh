#!/usr/bin/env bash
# Installs what is missing, builds, and serves the demo model; once the server is ready, asks it a
# first question and prints the answer. Arguments go to `foretoken serve`, e.g. --port 8000.
set -euo pipefail
cd "$(dirname "$0")/.."

# A first build has no kernels that this machine would not take; a folder that is there stays as it was chosen.
# `tools/build.sh release foretoken` adds the others.
isas=native
cache=build/release/CMakeCache.txt
if [ -e "$cache" ]; then isas=$(sed -n 's/^FORETOKEN_ISAS:[A-Z]*=//p' "$cache"); fi
FORETOKEN_ISAS=${isas:-all} tools/build.sh release foretoken

# Where the server will listen and what it will ask for, read from its own flags.
host=127.0.0.1 port=30000 key=
previous=
for argument in "$@"; do
  case "$argument" in
    --host=*) host=${argument#--host=} ;;
    --port=*) port=${argument#--port=} ;;
    --api-key=*) key=${argument#--api-key=} ;;
  esac
  case "$previous" in
    --host) host=$argument ;;
    --port) port=$argument ;;
    --api-key) key=$argument ;;
  esac
  previous=$argument
done
case "$host" in
  0.0.0.0) host=127.0.0.1 ;;  # all addresses: ask at the nearest
  ::) host='[::1]' ;;
  *:*) host="[$host]" ;;
esac

ask() {
  local url="http://$host:$port" headers=(-H 'Content-Type: application/json') shown=
  if [ -n "$key" ]; then
    headers+=(-H "Authorization: Bearer $key")
    shown=" -H 'Authorization: Bearer YOUR_KEY'"
  fi
  for _ in $(seq 600); do
    kill -0 "$1" 2>/dev/null || return 0
    if curl -gsf -o /dev/null "${headers[@]}" "$url/v1/models"; then
      echo
      echo "\$ curl $url/v1/chat/completions -H 'Content-Type: application/json'$shown -d '$question'"
      curl -gs "$url/v1/chat/completions" "${headers[@]}" -d "$question"
      echo
      return 0
    fi
    sleep 0.2
  done
}
question='{"model": "demo", "temperature": 0, "max_tokens": 64, "messages": [{"role": "user", "content": "List 3 countries and their capitals."}]}'

# The watcher asks in the background; the server itself takes this shell's place and its signals.
ask $$ &
exec build/release/foretoken serve "$@"
