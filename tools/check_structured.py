#!/usr/bin/env python3
"""Asks servers with each drafter for JSON of many schemas, many requests at once, and checks every answer.

  tools/check_structured.py [--requests 500] [--at-once 32] [--only EAGLE3 ...]

Starts the program once for each way to draft and prints a row for each: answers that are valid (package jsonschema)
of those that came to an end, and those that a limit of tokens cut. Fails where an answer is not valid, a request was refused,
or two ways answered differently. Exit code 77: the package, the program or the models are missing.
"""

import argparse
import concurrent.futures
import http.client
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
WAYS = {
    "none": ("demo", ["--speculative-algorithm", "none"]),
    "EAGLE3": ("demo", ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", MODELS / "demo-eagle3"]),
    "STANDALONE": ("demo", ["--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", MODELS / "demo-draft"]),
    "NGRAM": ("demo", ["--speculative-algorithm", "NGRAM"]),
    "SUFFIX": ("demo", ["--speculative-algorithm", "SUFFIX"]),
    "EAGLE3+SUFFIX": ("demo", ["--speculative-algorithm", "EAGLE3+SUFFIX", "--speculative-draft-model-path", MODELS / "demo-eagle3"]),
    "MTP": ("demo-mimo", ["--speculative-algorithm", "NEXTN"]),
}
TREE = {"$ref": "#/$defs/node", "$defs": {"node": {
    "type": "object", "properties": {"name": {"type": "string", "maxLength": 6},
                                     "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}},
    "required": ["name"], "additionalProperties": False}}}
FIXED = [
    TREE,
    {"type": "object", "properties": {
        "id": {"type": "integer", "minimum": 1, "maximum": 99999}, "day": {"type": "string", "format": "date"},
        "mail": {"type": "string", "pattern": "^[a-z]{1,8}@[a-z]{1,8}\\.org$"}, "state": {"enum": ["open", "closed", None]},
        "weight": {"type": "number", "minimum": 0, "exclusiveMaximum": 10, "multipleOf": 0.25}},
     "required": ["id", "day", "mail", "state", "weight"], "additionalProperties": False},
    {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "integer", "maximum": 50, "minimum": 0}},
     "required": ["kind", "radius"], "patternProperties": {"^x_[a-c]{1,3}$": {"type": "boolean"}},
     "additionalProperties": False, "maxProperties": 4},
    {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}],
                                                                 "items": False, "minItems": 1}]},
    {"type": "object", "properties": {"calls": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"anyOf": [
        {"type": "object", "properties": {"name": {"const": "get_weather"}, "arguments": {
            "type": "object", "properties": {"city": {"type": "string", "maxLength": 12}, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "required": ["city"], "additionalProperties": False}}, "required": ["name", "arguments"], "additionalProperties": False},
        {"type": "object", "properties": {"name": {"const": "search"}, "arguments": {
            "type": "object", "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 20}, "most": {"type": "integer", "minimum": 1, "maximum": 10}},
            "required": ["query", "most"], "additionalProperties": False}}, "required": ["name", "arguments"], "additionalProperties": False}]}}},
     "required": ["calls"], "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": ["boolean", "null"]}, "maxProperties": 2},
]


def random_schema(dice, depth):
    """A schema whose answers are short."""
    kind = dice.randrange(8 if depth > 0 else 6)
    if kind == 0:
        return {"type": ["boolean", "null"]}
    if kind == 1:
        least = dice.randrange(-50, 100)
        return {"type": "integer", "minimum": least, "maximum": least + dice.randrange(1000)}
    if kind == 2:
        return {"type": "string", "minLength": dice.randrange(3), "maxLength": 3 + dice.randrange(8)}
    if kind == 3:
        return {"enum": [dice.choice(["red", "green", None, 4, "a \"b\"", "äö"]), "blue"]}
    if kind == 4:
        return {"type": "string", "pattern": dice.choice(["^[a-c]{1,4}-[0-9]{2}$", "^(yes|no|may be)$", "^#[0-9a-f]{6}$"])}
    if kind == 5:
        return {"type": "string", "format": dice.choice(["date", "time", "uuid", "ipv4"])}
    if kind == 6:
        return {"type": "array", "items": random_schema(dice, depth - 1), "minItems": dice.randrange(2), "maxItems": 2}
    names = dice.sample(["name", "size", "on", "to", "id", "x/y", "größe"], 1 + dice.randrange(3))
    return {"type": "object", "properties": {name: random_schema(dice, depth - 1) for name in names},
            "required": [name for name in names if dice.random() < 0.7], "additionalProperties": False}


def schemas(count):
    dice = random.Random(5)
    made = FIXED + [random_schema(dice, 2) for _ in range(max(0, count // 3 - len(FIXED)))]
    return [made[number % len(made)] for number in range(count)]


class Server:
    def __init__(self, binary, model, flags, folder):
        self.log = open(pathlib.Path(folder) / "log", "w+")
        command = [binary, "serve", "--model", MODELS / model, "--port", "0", *flags]
        self.process = subprocess.Popen(list(map(str, command)), stdout=self.log, stderr=subprocess.STDOUT)
        for _ in range(600):
            self.log.seek(0)
            found = re.search(r"Listening on http://([^:]*):(\d+)", self.log.read())
            if found:
                self.host, self.port = found[1], int(found[2])
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.log.seek(0)
        sys.exit(f"the server did not start:\n{self.log.read()[-3000:]}")

    def ask(self, body):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=600)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


def judge(number, schema, status, text):
    """('valid' | 'cut' | 'wrong', the answer)."""
    import jsonschema
    if status != 200:
        return "wrong", f"{status}: {text[:300]}"
    choice = json.loads(text)["choices"][0]
    answer = choice["message"]["content"]
    if choice["finish_reason"] != "stop":
        return "cut", answer
    try:
        kind = jsonschema.validators.validator_for(schema)
        kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(answer))
    except (ValueError, jsonschema.ValidationError) as error:
        return "wrong", f"{answer!r}: {str(error).splitlines()[0]}"
    return "valid", answer


def run(binary, name, args):
    model, flags = WAYS[name]
    wanted = schemas(args.requests)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, model, flags, folder)

        def ask(number):
            status, text = server.ask({
                "model": model, "messages": [{"role": "user", "content": f"Fill in form {number}."}], "temperature": 1,
                "seed": number, "max_tokens": args.max_tokens, "response_format": {
                    "type": "json_schema", "json_schema": {"name": "form", "schema": wanted[number]}}})
            return judge(number, wanted[number], status, text)

        begin = time.monotonic()
        try:
            with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
                found = list(pool.map(ask, range(args.requests)))
        finally:
            server.close()
    seconds = time.monotonic() - begin
    count = {kind: sum(one == kind for one, _ in found) for kind in ("valid", "cut", "wrong")}
    print(f"{name:16} {model:10} {count['valid']:5} / {count['valid'] + count['wrong']:<5} {count['cut']:5} cut {seconds:7.1f} s", flush=True)
    for (kind, answer), schema in zip(found, wanted):
        if kind == "wrong":
            print("  WRONG:", answer[:300], json.dumps(schema)[:300])
    return model, [answer for _, answer in found], count["wrong"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/foretoken")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--only", nargs="*", default=list(WAYS), choices=list(WAYS))
    args = parser.parse_args()
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print("skipped: the package jsonschema is missing")
        sys.exit(77)
    if not args.binary.exists() or not (MODELS / "demo" / "model.safetensors").exists():
        print("skipped: the program or the demo model is missing")
        sys.exit(77)
    print(f"{'drafts by':16} {'model':10} valid / ended")
    wrong, answers = 0, {}
    for name in args.only:
        model, texts, faults = run(args.binary, name, args)
        wrong += faults
        if answers.setdefault(model, texts) != texts:
            wrong += 1
            print(f"  WRONG: {sum(a != b for a, b in zip(answers[model], texts))} answers differ from those before")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
