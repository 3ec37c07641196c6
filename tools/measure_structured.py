#!/usr/bin/env python3
"""Speed of calls of tools and of JSON filled into schemas, by who drafts: nobody, the model, the grammar, both.

  tools/measure_structured.py [--repeats 5] [--at-once 1] [-- flags of foretoken serve]

A server for each, with EAGLE3 on the demo model (unless flags say otherwise), asked in turns. Each repeat asks about other things, so values were
never seen before, while keys were.
Prints tokens per second and step, medians of the repeats, and fails where a text depends on the way.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import sys
import tempfile
import time

from check_structured import MODELS, ROOT, Server

WAYS = {"plain": {"enabled": False}, "model": {"drafters": ["EAGLE3"]}, "grammar": {"drafters": ["GRAMMAR"]}, "both": {}}


def text(most, **more):
    return {"type": "string", "maxLength": most, **more}


def record(**properties):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def tool(name, **parameters):
    return record(name={"const": name}, parameters=record(**parameters))


TOOLS = [
    tool("get_current_weather", location=text(24), temperature_unit={"enum": ["celsius", "fahrenheit"]},
         include_forecast={"type": "boolean"}),
    tool("search_the_library", search_query=text(32), maximum_results={"type": "integer", "minimum": 1, "maximum": 20}),
    tool("create_calendar_event", event_title=text(24), start_date=text(10, format="date"), duration_minutes={"type": "integer", "minimum": 5, "maximum": 240},
         attendee_names={"type": "array", "items": text(12), "maxItems": 2}),
]
PLACES = "Paris Rome Oslo Berlin Madrid Lisbon Vienna Athens Dublin Prague Cairo Tokyo London Moscow Warsaw Sydney".split()
NAMES = "Anna Tom Maria Peter Lucy Sam Clara John Emma Max Nina Paul Rosa Ben Ella Jack".split()
ANIMALS = "dog cat horse lion whale eagle snake frog bear wolf tiger owl shark mouse rabbit camel".split()
COLOURS = "red green yellow blue orange brown black white purple pink grey golden dark bright pale sweet".split()
ASKED = ["What is the weather in {place}?", "Find books about the history of {place}.", "Plan a meeting with {name}.", "Is it cold in {place}?"]
FORMS = [
    ("Describe the country of {place}.", record(country_name=text(20), capital_city=text(20), official_language=text(16), is_an_island={"type": "boolean"},
                                   population_in_millions={"type": "integer", "minimum": 0, "maximum": 2000})),
    ("Describe a {animal}.", record(animal_name=text(16), scientific_classification=record(kingdom=text(12), order_name=text(12), family_name=text(12)),
                                   conservation_status={"enum": ["least concern", "vulnerable", "endangered", "extinct"]})),
    ("Write an order for a book by {name}.", record(order_number={"type": "integer", "minimum": 1, "maximum": 99999}, customer=record(first_name=text(12), last_name=text(12)),
                                          shipping_address=record(street_and_number=text(24), postal_code=text(5, pattern="^[0-9]{5}$"), city_name=text(16)),
                                          payment_method={"enum": ["credit card", "bank transfer", "invoice"]})),
    ("List two {colour} fruits.", record(fruits={"type": "array", "minItems": 2, "maxItems": 2, "items": record(
        fruit_name=text(12), usual_colour=text(10), grows_on_trees={"type": "boolean"})})),
]


def form(prompt, seed, schema):
    return {"messages": [{"role": "user", "content": prompt}], "seed": seed, "response_format": {
        "type": "json_schema", "json_schema": {"name": "form", "schema": schema}}}


def bodies(repeat):
    def about(prompt):
        return prompt.format(**{key: words[repeat % len(words)] for key, words in (
            ("place", PLACES), ("name", NAMES), ("animal", ANIMALS), ("colour", COLOURS))})

    for number, prompt in enumerate(ASKED):
        # As a tool_choice that demands a call binds the output; the demo model's template knows no tools.
        yield "calls of tools", form(about(prompt), number, {"type": "array", "items": {"anyOf": TOOLS}, "minItems": 1, "maxItems": 1})
    for number, (prompt, schema) in enumerate(FORMS):
        yield "filled schemas", form(about(prompt), number, schema)


def run(server, model, kind, way, repeat, args):
    """(tokens, steps, seconds, texts) of all requests of this kind."""
    def ask(body):
        status, reply = server.ask({"model": model, "temperature": args.temperature, "max_tokens": 300, "speculative": WAYS[way], **body})
        if status != 200:
            sys.exit(f"{status}: {reply[:500]}")
        return json.loads(reply)

    wanted = [body for one, body in bodies(repeat) if one == kind] * args.rounds
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        replies = list(pool.map(ask, wanted))
    seconds = time.monotonic() - begin
    texts = [reply["choices"][0]["message"]["content"] for reply in replies]
    tokens = sum(reply["usage"]["completion_tokens"] for reply in replies)
    return tokens, sum(reply["choices"][0]["speculative"]["verify_steps"] for reply in replies), seconds, texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/foretoken")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1, help="over the requests, in a repeat")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--compact", action="store_true", help="JSON without free white space, which the demo model likes too much")
    parser.add_argument("--show", action="store_true", help="the answers")
    parser.add_argument("flags", nargs="*", default=["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", MODELS / "demo-eagle3"])
    args = parser.parse_args()
    args.flags += ["--constrained-json-disable-any-whitespace"] * args.compact
    kinds = list(dict.fromkeys(kind for kind, _ in bodies(0)))
    speeds, paces, texts, differ = {}, {}, {}, 0
    with tempfile.TemporaryDirectory() as folder:
        servers = {}
        try:
            for way in WAYS:
                servers[way] = Server(args.binary, "demo", args.flags, folder)
            for repeat in range(args.repeats + 1):
                for kind in kinds:
                    for way, server in servers.items():
                        tokens, steps, seconds, found = run(server, "demo", kind, way, repeat, args)
                        differ += texts.setdefault((kind, repeat), found) != found
                        if repeat > 0:  # the first warms up
                            speeds.setdefault((kind, way), []).append(tokens / seconds)
                            paces.setdefault((kind, way), []).append(tokens / max(1, steps))
        finally:
            for server in servers.values():
                server.close()
    if args.show:
        for kind in kinds:
            print(*(json.dumps(one) for one in texts[kind, args.repeats][:4]), sep="\n")
    print(f"{'tokens/s':16}" + "".join(f"{way:>18}" for way in WAYS) + "   both / model   both / plain")
    for kind in kinds:
        median = {way: statistics.median(speeds[kind, way]) for way in WAYS}
        cells = "".join(f"{median[way]:>8.0f} ({min(speeds[kind, way]):.0f}-{max(speeds[kind, way]):.0f})".rjust(18) for way in WAYS)
        print(f"{kind:16}{cells}{median['both'] / median['model']:15.2f}{median['both'] / median['plain']:15.2f}")
    print("tokens/step")
    for kind in kinds:
        print(f"{kind:16}" + "".join(f"{statistics.median(paces[kind, way]):18.2f}" for way in WAYS))
    if differ:
        sys.exit(f"{differ} times the texts were others")


if __name__ == "__main__":
    main()
