#!/usr/bin/env python3
"""Many streams at once, all open at the same time, against the program, over HTTP on this machine.

    tests/soak/streams.py --streams 4000 [--tokens 32] [--terminate] [-- flags of foretoken serve]

Prints how many ended well, the server's memory before, at most and after, and the time between two
tokens. With --terminate the server gets SIGTERM while the streams are open: each must still end with its
whole answer or with a reason, and the process with code 0. Exit code 0 only when nothing was lost and
memory after a second round is that after the first.
"""
import argparse
import asyncio
import collections
import json
import pathlib
import resource
import time

from http_client import Broken
from served import Served
from tally import Tally, quantile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY_SLACK_MIB = 32  # what the allocator may keep between two rounds


def reason_of(payload):
    """finish_reason of an event, "abort" of an error event, or None."""
    value = json.loads(payload)
    if "error" in value or value.get("object") == "error":
        return "error"
    return next((c["finish_reason"] for c in value.get("choices", []) if c.get("finish_reason")), None)


async def stream(server, number, tokens, tally, opened):
    times, reasons, others = [], [], []
    body = {"prompt": f"Story {number}: once upon a time", "max_tokens": tokens, "ignore_eos": True,
            "temperature": 1.0, "seed": number}

    def on_event(seconds, payload):
        if not times:
            opened()
        times.append(seconds)
        try:
            reason = reason_of(payload)
        except ValueError:
            others.append(payload)
            return
        if reason:
            reasons.append(reason)

    try:
        status = await server.events("/v1/completions", body, on_event, timeout=1800)
    except (OSError, Broken, TimeoutError, asyncio.IncompleteReadError) as error:
        tally.fault(f"stream {number} broke after {len(times)} events: {type(error).__name__}: {error}")
        return
    if status != 200:
        tally.count(f"refused with {status}")
    elif others or len(reasons) != 1:
        tally.fault(f"stream {number} ended with {reasons} {others[:1]}")
    else:
        tally.count(reasons[0])
        tally.latency(times)


async def sample_memory(served, most):
    while served.is_up():
        most[0] = max(most[0], served.resident_mib())
        await asyncio.sleep(0.2)


async def round_of(served, options, tally):
    """All streams once; returns the most memory in use meanwhile, MiB."""
    most, begun = [0.0], collections.Counter()
    sampling = asyncio.create_task(sample_memory(served, most))
    streams = [asyncio.create_task(stream(served.server, i, options.tokens, tally,
                                          lambda: begun.update(["first token"])))
               for i in range(options.streams)]
    if options.terminate:
        while begun["first token"] < min(options.streams, 50) and not all(s.done() for s in streams):
            await asyncio.sleep(0.05)
        served.terminate()
    await asyncio.gather(*streams)
    sampling.cancel()
    return most[0]


async def run(options, served, tally):
    memory, refused = [served.resident_mib()], 0
    for _ in range(1 if options.terminate else 2):
        tally.counts.clear()
        start = time.monotonic()
        most = await round_of(served, options, tally)
        first, between = tally.take_latencies()
        seconds = time.monotonic() - start
        refused += sum(n for what, n in tally.counts.items() if what.startswith("refused"))
        if served.is_up():
            await asyncio.sleep(1)
            memory.append(served.resident_mib() if served.is_up() else most)
        print(f"{options.streams} streams in {seconds:.1f} s: {dict(tally.counts)}, {tally.num_faults} faults; "
              f"resident {memory[0]:.1f} MiB before, {most:.1f} at most, {memory[-1]:.1f} after; "
              f"first token p50 {quantile(first, .5):.2f} s p95 {quantile(first, .95):.2f} s; "
              f"between two tokens p50 {1e3 * quantile(between, .5):.0f} ms "
              f"p95 {1e3 * quantile(between, .95):.0f} ms", flush=True)
    if len(memory) > 2 and memory[-1] > memory[-2] + MEMORY_SLACK_MIB:
        tally.fault(f"memory after the second round: {memory[-1]:.1f} MiB, after the first {memory[-2]:.1f}")
    return refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=4000)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--terminate", action="store_true")
    parser.add_argument("--program", default=str(ROOT / "build/release/foretoken"))
    parser.add_argument("--model", default=str(ROOT / "models/demo"))
    parser.add_argument("flags", nargs="*", help="after --: further flags of foretoken serve")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    tally = Tally()
    served = Served(options.program, options.model, options.flags)
    try:
        refused = asyncio.run(run(options, served, tally))
    finally:
        code = served.end()
    if code != 0:
        tally.fault(f"the process ended with code {code}")
    for fault in tally.faults:
        print("FAULT:", fault)
    print(f"streams: {tally.num_faults} faults, {refused} refused")
    raise SystemExit(1 if tally.num_faults or (refused and not options.terminate) else 0)


if __name__ == "__main__":
    main()
