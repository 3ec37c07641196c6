#!/usr/bin/env python3
"""Hours of mixed hostile and honest traffic against the program, over HTTP on this machine.

    tests/soak/soak.py --minutes 600 [--honest 24] [--hostile 12] [-- flags of foretoken serve]

Every interval (a minute) prints integrity, memory, descriptors and latencies of the server; ends with a
verdict and exit code 0 only when: no honest request failed or was answered differently than before, no
hostile one got what it may not have, all invariants held, memory and descriptors stayed flat, nothing was
left over when all clients had gone, and SIGTERM ended the process with code 0.
"""
import argparse
import asyncio
import contextlib
import json
import pathlib
import random
import resource
import statistics
import time

import hostile
from honest import Honest
from http_client import Broken
from served import Served
from tally import Tally, quantile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEY = "soak-key"
# Beyond the allocator's own habits: of the median of the last third over that of the second.
MEMORY_SLACK_MIB = 48
DESCRIPTOR_SLACK = 8


async def busy(step, rng, tally, until):
    while time.monotonic() < until:
        try:
            await step(rng)
        except (OSError, Broken, TimeoutError, asyncio.IncompleteReadError) as error:
            tally.fault(f"an honest request broke: {type(error).__name__}: {error}")
            await asyncio.sleep(0.2)


async def check_integrity(server, tally):
    status, text = await server.get("/check_integrity")
    if status != 200:
        tally.fault(f"integrity: {text}")
    return "sound" if status == 200 else "BROKEN"


async def watch(served, tally, until, interval):
    memory = []
    start = time.monotonic()
    print("  time  answers  hostile  faults  integrity  resident MiB  descriptors  "
          "first token p50/p95 s  between tokens p50/p95/p99 ms", flush=True)
    while time.monotonic() < until and served.is_up():
        await asyncio.sleep(max(0.0, min(interval, until - time.monotonic())))
        integrity = await check_integrity(served.server, tally)
        memory.append(served.resident_mib())
        first, between = tally.take_latencies()
        answers = tally.counts["honest"]
        print(f"{time.monotonic() - start:5.0f}s {answers:8} "
              f"{sum(tally.counts.values()) - answers - tally.counts['busy']:8} {tally.num_faults:7} "
              f"{integrity:>10} {memory[-1]:13.1f} {served.descriptors():12}"
              f" {quantile(first, .5):14.2f}/{quantile(first, .95):.2f}"
              f" {1e3 * quantile(between, .5):20.1f}/{1e3 * quantile(between, .95):.1f}"
              f"/{1e3 * quantile(between, .99):.1f}", flush=True)
    if not served.is_up():
        tally.fault("the server ended by itself:\n" + served.log()[-3000:])
    return memory


async def settle(served, tally, descriptors):
    """Nothing may be left when the clients have gone."""
    loads = {}
    for _ in range(300):
        with contextlib.suppress(OSError, ValueError, KeyError):
            loads = json.loads((await served.server.get("/v1/loads"))[1])["loads"][0]
            if not loads["num_total_reqs"] and served.descriptors() <= descriptors + DESCRIPTOR_SLACK:
                break
        await asyncio.sleep(0.2)
    else:
        tally.fault(f"left over: {loads.get('num_total_reqs')} requests, "
                    f"{served.descriptors()} descriptors instead of {descriptors}")
    await check_integrity(served.server, tally)


def judge_memory(memory, tally):
    third = len(memory) // 3
    if third < 2:
        return  # too short to tell growth from warming up
    middle, last = statistics.median(memory[third:2 * third]), statistics.median(memory[-third:])
    print(f"resident, medians: {middle:.1f} MiB in the middle third, {last:.1f} MiB in the last")
    if last > middle + MEMORY_SLACK_MIB:
        tally.fault(f"memory grew from {middle:.1f} to {last:.1f} MiB")


async def soak(options, served, tally):
    answers = {}
    honest = Honest(served.server, tally, answers)
    await honest.one(random.Random(0))
    descriptors = served.descriptors()
    until = time.monotonic() + 60 * options.minutes
    seeds = random.Random(options.seed)
    clients = [busy(honest.one, random.Random(seeds.random()), tally, until)
               for _ in range(options.honest)]
    clients += [busy(lambda rng: hostile.one(served.server, rng, tally), random.Random(seeds.random()),
                     tally, until) for _ in range(options.hostile)]
    memory, *_ = await asyncio.gather(watch(served, tally, until, options.interval), *clients)
    judge_memory(memory, tally)
    if served.is_up():
        await settle(served, tally, descriptors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--interval", type=float, default=60, help="seconds between two lines")
    parser.add_argument("--honest", type=int, default=24, help="clients that behave")
    parser.add_argument("--hostile", type=int, default=12, help="clients that do not")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=str(ROOT / "build/release/foretoken"))
    parser.add_argument("--model", default=str(ROOT / "models/demo"))
    parser.add_argument("flags", nargs="*", help="after --: further flags of foretoken serve")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    tally = Tally()
    served = Served(options.program, options.model, options.flags, KEY)
    try:
        asyncio.run(soak(options, served, tally))
    finally:
        code = served.end()
    if code != 0:
        tally.fault(f"SIGTERM ended the process with code {code}")
    print(", ".join(f"{count} {what}" for what, count in sorted(tally.counts.items())))
    for fault in tally.faults:
        print("FAULT:", fault)
    print(f"soak: {tally.num_faults} faults")
    raise SystemExit(1 if tally.num_faults else 0)


if __name__ == "__main__":
    main()
