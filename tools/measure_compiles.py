#!/usr/bin/env python3
"""Whether the text of one request waits while grammars of others are compiled.

  tools/measure_compiles.py [--repeats 5] [--every 0.1] [-- flags of foretoken serve]

One answer is streamed while another client asks for one token at a steady pace: not at all, of free text, or bound by a large schema that was
never seen before (free text carries the same schema where nobody reads it). Prints the times between the pieces of the stream, in turns, and how long such a request itself took.
"""

import argparse
import http.client
import json
import pathlib
import statistics
import tempfile
import threading
import time

from check_structured import ROOT, Server

KINDS = ["nobody else", "free text", "new schemas"]


def large_schema(number):
    """Some hundred properties with names, constants and patterns of its own."""
    def field(i):
        return [{"enum": [f"{word} {number} {i}" for word in ("red", "green", "blue", "grey")]}, {"type": "string", "pattern": f"^[a-f]{{2,{4 + i % 5}}}-{number}-[0-9]{{1,6}}$"},
                {"type": "integer", "minimum": i, "maximum": i + 1000 * number}, {"type": "array", "items": {"type": "string", "maxLength": 8 + i}, "maxItems": 6}][i % 4]
    names = [f"field_{number}_{i}" for i in range(160)]
    return {"type": "object", "properties": {name: field(i) for i, name in enumerate(names)}, "required": names, "additionalProperties": False}


def gaps_of_stream(server, tokens):
    """Seconds between the pieces of an answer."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=600)
    connection.request("POST", "/v1/chat/completions", json.dumps({
        "model": "demo", "messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": tokens, "ignore_eos": True, "temperature": 0,
        "stream": True, "logprobs": True, "speculative": {"enabled": False}}), {"Content-Type": "application/json"})
    times = [time.monotonic() for line in connection.getresponse() if line.startswith(b"data: {")]
    connection.close()
    return [b - a for a, b in zip(times[8:], times[9:])]


def others(server, kind, every, done, numbers, took):
    while kind != "nobody else" and not done.wait(every):
        form = {"type": "json_schema", "json_schema": {"name": "form", "schema": large_schema(next(numbers))}}
        body = {"model": "demo", "messages": [{"role": "user", "content": "Fill in the form."}], "max_tokens": 1}
        body["response_format" if kind == "new schemas" else "nobody_reads_this"] = form
        begin = time.monotonic()
        status, text = server.ask(body)
        assert status == 200, text
        took.append(time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/foretoken")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=1500, help="of the answer that is streamed")
    parser.add_argument("--every", type=float, default=0.1, help="seconds between the other client's requests")
    parser.add_argument("flags", nargs="*", default=[])
    args = parser.parse_args()
    gaps, took, numbers = {kind: [] for kind in KINDS}, {kind: [] for kind in KINDS}, iter(range(1, 1 << 30))
    with tempfile.TemporaryDirectory() as folder:
        server = Server(args.binary, "demo", args.flags, folder)
        try:
            for _ in range(args.repeats):
                for kind in KINDS:
                    done = threading.Event()
                    other = threading.Thread(target=others, args=(server, kind, args.every, done, numbers, took[kind]))
                    other.start()
                    gaps[kind] += gaps_of_stream(server, args.tokens)
                    done.set()
                    other.join()
        finally:
            server.close()
    print(f"{'other client':16}{'pieces':>8}{'median ms':>11}{'p99':>8}{'p99.9':>8}{'most':>8}{'requests':>10}{'each, ms':>10}")
    for kind in KINDS:
        found = sorted(gaps[kind])
        cells = [1e3 * found[min(len(found) - 1, int(share * len(found)))] for share in (0.5, 0.99, 0.999, 1)]
        each = 1e3 * statistics.median(took[kind]) if took[kind] else 0
        print(f"{kind:16}{len(found):8}{cells[0]:11.2f}{cells[1]:8.2f}{cells[2]:8.2f}{cells[3]:8.2f}{len(took[kind]):10}{each:10.1f}")


if __name__ == "__main__":
    main()
