#!/usr/bin/env python3
"""Tokens per second of real answers over HTTP, by ways to draft and by other servers, in alternation.

  tools/measure_peers.py --prompts FILE [--count 10] [--max-tokens 256] [--rounds 2] --server NAME=COMMAND .. [--variant NAME=JSON ..]

A COMMAND starts a server; `{port}` in it is replaced by a free port. It answers /health and /v1/chat/completions. The first one is the base
of the ratios. A variant asks the first server, with the fields of a JSON object beside those of the question. All servers stay up; each prompt is
asked of one after the other, in another order each time, greedily, and alone. FILE is one of docs/use/train_a_head.md; of several turns the first
is asked. Prints for each way tokens, tokens per second over all prompts, the median of its ratios to the base in the same round, and whether its
texts are those of the base.
"""

import argparse
import json
import pathlib
import random
import shlex
import statistics
import sys
import tempfile
import time

from replicas import Process, free_port, is_up
from train_head.recipe.faults import Fault
from train_head.recipe.prompts import read_prompts
from train_head.recipe.server import post


class Server(Process):
    def __init__(self, number, command, folder):
        port = free_port()
        super().__init__(f"server{number}", shlex.split(command.replace("{port}", str(port))), folder)
        self.url = f"http://127.0.0.1:{port}"
        self.expect(lambda: is_up(self.url))

    def ask(self, messages, max_tokens, fields):
        """(text, tokens, seconds)"""
        question = {"model": "default", "temperature": 0, "max_tokens": max_tokens, "messages": messages, **fields}
        begin = time.monotonic()
        answer = post(f"{self.url}/v1/chat/completions", question)
        seconds = time.monotonic() - begin
        return answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"], seconds


def conversations(args):
    found = [prompt.messages for prompt in read_prompts(args.prompts)[:args.count]]
    if not all(found):
        raise Fault(f"{args.prompts}: a prompt without a user's turn")
    for messages in found:
        messages[-1]["content"] = args.before + messages[-1]["content"]
    return found


def named(text):
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} has no NAME=")
    return name, value


def variant(text):
    name, fields = named(text)
    try:
        fields = json.loads(fields)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(f"{text!r}: {fault}") from None
    if not isinstance(fields, dict):
        raise argparse.ArgumentTypeError(f"{text!r}: not an object")
    return name, fields


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


def measure(args):
    prompts, servers = conversations(args), []
    with tempfile.TemporaryDirectory(prefix="measure_peers_") as folder:
        try:
            for number, (_, command) in enumerate(args.server):
                servers.append(Server(number, command, pathlib.Path(folder)))
            ways = {name: (server, {}) for (name, _), server in zip(args.server, servers)}
            ways |= {name: (servers[0], fields) for name, fields in args.variant}
            said = {name: [] for name in ways}
            for server, fields in ways.values():
                server.ask([{"role": "user", "content": "Say hello."}], 8, fields)
            for _ in range(args.rounds):
                for prompt in prompts:
                    for name in random.sample(list(ways), len(ways)):
                        server, fields = ways[name]
                        said[name].append(server.ask(prompt, args.max_tokens, fields))
            report(list(said), said)
        finally:
            for server in servers:
                server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--before", default="", help="a sentence put before each prompt")
    parser.add_argument("--server", type=named, action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--variant", type=variant, action="append", default=[], metavar="NAME=JSON")
    args = parser.parse_args()
    try:
        measure(args)
    except Fault as fault:
        sys.exit(f"measure_peers: {fault}")


if __name__ == "__main__":
    main()
