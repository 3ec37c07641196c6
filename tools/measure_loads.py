#!/usr/bin/env python3
"""Whether drafting is ever slower than plain decoding, over HTTP, and where the time goes.

  tools/measure_loads.py [--at-once 1 4 16 64] [--rounds 15] [--forced TOKENS]
  tools/measure_loads.py --model FOLDER --flags="--load-format dummy" --method "sim 2=--speculative-algorithm EAGLE3 ... --simulate-acc-len 2" [--requests 8]

For each number of requests at once a server for plain decoding, a second one, and one for each way to draft, without --method all of them on the demo
model; all answer the same prompts in turns, in another order in each round. Prints medians of tokens per second over plain decoding of the same round, and
microseconds for each token by what the engine did (its metrics): steps with prompts in them, target, drafting.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import shlex
import statistics
import tempfile
import time
import urllib.request

from check_structured import MODELS, ROOT, Server

DRAFTS = ["--draft-budget", "auto"]
NONE = ["--speculative-algorithm", "none"]
PLAIN = {"plain": NONE, "plain again": NONE}
METHODS = {
    "EAGLE-3": ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", str(MODELS / "demo-eagle3"), *DRAFTS],
    "STANDALONE": ["--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", str(MODELS / "demo-draft"), *DRAFTS],
    "NGRAM": ["--speculative-algorithm", "NGRAM", "--speculative-ngram-isolation", "request", *DRAFTS],
    "SUFFIX": ["--speculative-algorithm", "SUFFIX", "--speculative-suffix-isolation", "request", *DRAFTS],
}
PARTS = {"with prompts": r'forward_execution_seconds_total\{.*category="(extend|mixed)"',
         "target": r"spec_verify_time_seconds_sum", "drafting": r"spec_draft_time_seconds_sum"}


def seconds_of(server):
    """Of the engine, by part; steps with prompts count there and as target."""
    page = urllib.request.urlopen(f"http://{server.host}:{server.port}/metrics").read().decode()
    found = dict.fromkeys(PARTS, 0.0)
    for line in page.splitlines():
        for part, pattern in PARTS.items():
            if re.search(pattern, line):
                found[part] += float(line.rsplit(" ", 1)[1])
    return found


def answer(server, prompts, args, at_once):
    """(tokens, seconds) of all prompts."""
    def ask(prompt):
        body = {"model": "demo", "temperature": 0, "max_tokens": args.forced or 128, "ignore_eos": args.forced > 0,
                "messages": [{"role": "user", "content": prompt}]}
        return json.loads(server.ask(body)[1])["usage"]["completion_tokens"]

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        tokens = sum(pool.map(ask, prompts))
    return tokens, time.monotonic() - begin


def measure(at_once, prompts, args, folder):
    methods = PLAIN | (dict(args.method) or METHODS)
    servers = {name: Server(args.binary, args.model, ["--enable-metrics", *args.flags, *flags], folder) for name, flags in methods.items()}
    speeds, tokens = {name: [] for name in servers}, dict.fromkeys(servers, 0)
    before = {name: seconds_of(server) for name, server in servers.items()}
    try:
        for repeat in range(args.rounds):
            asked = [prompts[(7 * repeat + n) % len(prompts)] for n in range(args.requests or max(24, 2 * at_once))]
            for name in random.sample(list(servers), len(servers)):
                said, seconds = answer(servers[name], asked, args, at_once)
                speeds[name].append(said / seconds)
                tokens[name] += said
        for name, server in servers.items():
            ratio = statistics.median(own / plain for own, plain in zip(speeds[name], speeds["plain"]))
            spent = seconds_of(server)
            parts = "".join(f"{(spent[part] - before[name][part]) / tokens[name] * 1e6:14.1f}" for part in PARTS)
            print(f"{at_once:8} {name:12} {statistics.median(speeds[name]):10.0f} {ratio:8.2f} {parts}", flush=True)
    finally:
        for server in servers.values():
            server.close()


def method(text):
    name, sign, flags = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FLAGS")
    return name, [*DRAFTS, *shlex.split(flags)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/foretoken")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--forced", type=int, default=0, metavar="TOKENS", help="answers of this length, beyond the model's end")
    parser.add_argument("--model", default="demo", metavar="FOLDER")
    parser.add_argument("--flags", type=shlex.split, default=[], help="of every server")
    parser.add_argument("--method", type=method, action="append", default=[], metavar="NAME=FLAGS", help="instead of those of the demo model")
    parser.add_argument("--requests", type=int, help="of a round; otherwise twice as many as at once, 24 at least")
    args = parser.parse_args()
    lines = (ROOT / "bench/prompts/demo.jsonl").read_text().splitlines()
    prompts = [json.loads(line)["turns"][0] for line in lines]
    print(f"{'at once':>8} {'method':12} {'tokens/s':>10} {'x plain':>8} " + "".join(f"{part:>14}" for part in PARTS) + "  (us a token)")
    for at_once in args.at_once:
        with tempfile.TemporaryDirectory() as folder:
            measure(at_once, prompts, args, folder)


if __name__ == "__main__":
    main()
