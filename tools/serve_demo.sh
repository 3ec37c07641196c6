#!/usr/bin/env bash
# Installs what is missing, builds, and serves the demo model; once the server is ready, asks it a
# first question and prints the answer. Arguments go to `foretoken serve`, e.g. --port 8000.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh release foretoken foretoken-bench  # the bench, for who wants to see what drafts bring

port=30000
previous=
for argument in "$@"; do
  case "$argument" in --port=*) port=${argument#--port=} ;; esac
  [ "$previous" = --port ] && port=$argument
  previous=$argument
done

ask() {
  local url="http://127.0.0.1:$port"
  for _ in $(seq 600); do
    kill -0 "$1" 2>/dev/null || return 0
    if curl -sf -o /dev/null "$url/v1/models"; then
      echo
      echo "\$ curl $url/v1/chat/completions -H 'Content-Type: application/json' -d '$question'"
      curl -s "$url/v1/chat/completions" -H 'Content-Type: application/json' -d "$question"
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
