#!/usr/bin/env python3
"""Tokens per second of real answers over HTTP, by ways to draft and by other servers, in alternation.

  tools/measure_peers.py --prompts FILE [--count 10] [--max-tokens 256] [--rounds 2] --server NAME=COMMAND [--server NAME=COMMAND ..]

A COMMAND starts a server; `{port}` in it is replaced by a free port. It answers /health and /v1/chat/completions. The first one is the base of the ratios.
All servers stay up; each prompt is asked of one after the other, in another order each time, greedily, and alone. A line of FILE is JSON with `prompt` or
`turns`, of which the first is asked. Prints for each server tokens, tokens per second over all prompts, the median of its ratios to the base in the same
round, and whether its texts are those of the base.
"""

import argparse
import gzip
import json
import os
import pathlib
import random
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

START_SECONDS = 120


class Server:
    def __init__(self, name, command, log):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.name, self.url = name, f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(shlex.split(command.replace("{port}", str(port))), stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + START_SECONDS
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() > end:
                self.close()
                sys.exit(f"{name}: the server did not start; see {log.name}")
            time.sleep(0.1)

    def is_up(self):
        try:
            return urllib.request.urlopen(f"{self.url}/health", timeout=5).status == 200
        except OSError:
            return False

    def ask(self, prompt, max_tokens):
        """(text, tokens, seconds)"""
        body = {"model": "default", "temperature": 0, "max_tokens": max_tokens, "messages": [{"role": "user", "content": prompt}]}
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        begin = time.monotonic()
        answer = json.load(urllib.request.urlopen(request))
        seconds = time.monotonic() - begin
        return answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"], seconds

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def read_prompts(path, count):
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.strip()][:count]
    return [line["turns"][0] if "turns" in line else line["prompt"] for line in lines]


def named(text):
    name, sign, command = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=COMMAND")
    return name, command


def report(names, said):
    """`said`: of each server a list of (text, tokens, seconds), one for each prompt and round."""
    base = said[names[0]]
    print(f"{'server':28} {'tokens':>7} {'tokens/s':>9} {'ratio':>6}  same text")
    for name in names:
        tokens = sum(answer[1] for answer in said[name])
        speed = tokens / sum(answer[2] for answer in said[name])
        ratio = statistics.median(own[1] / own[2] / (plain[1] / plain[2]) for own, plain in zip(said[name], base))
        same = sum(own[0] == plain[0] for own, plain in zip(said[name], base))
        print(f"{name:28} {tokens:7} {speed:9.1f} {ratio:6.2f}  {same} of {len(base)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--before", default="", help="a sentence put before each prompt")
    parser.add_argument("--server", type=named, action="append", required=True, metavar="NAME=COMMAND")
    args = parser.parse_args()
    prompts = [args.before + prompt for prompt in read_prompts(args.prompts, args.count)]
    servers = []
    with tempfile.NamedTemporaryFile("w", prefix="measure_peers_", suffix=".log", delete=False) as log:
        try:
            for name, command in args.server:
                servers.append(Server(name, command, log))
            said = {server.name: [] for server in servers}
            for server in servers:
                server.ask("Say hello.", 8)
            for _ in range(args.rounds):
                for prompt in prompts:
                    for server in random.sample(servers, len(servers)):
                        said[server.name].append(server.ask(prompt, args.max_tokens))
            report([server.name for server in servers], said)
        finally:
            for server in servers:
                server.close()


if __name__ == "__main__":
    main()
