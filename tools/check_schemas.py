#!/usr/bin/env python3
"""Holds compiled JSON schemas against what JSON Schema says of them.

  check_schemas.py --suite FOLDER    FOLDER/*.json of JSON-Schema-Test-Suite, tests/draft2020-12 or tests/draft7: a
                                     valid instance is to be taken, an invalid one barred, in every spelling
  check_schemas.py --schemas FILE... schemas as they are used: random texts of each are to be valid (package jsonschema)

The suite is in the source archive of the Python package jsonschema, folder json. A schema may be refused, and a valid text
barred (docs/use/http_api.md says which): both are listed. Fails where an invalid text is taken.
"""

import argparse
import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRAFT7 = "http://json-schema.org/draft-07/schema#"
MOST_ORDERS = 48

# Invalid texts that are taken all the same, by file and group: keywords that are annotations here, and Rust's \\s.
EXCUSED = re.compile(r"optional/content\.json|optional/ecmascript-regex\.json: ECMA 262 \\S ")


def orders(value):
    """The value with the members of its objects in every order, as far as that stays bearable."""
    if isinstance(value, dict):
        children = [list(orders(child)) for child in value.values()]
        for names in itertools.islice(itertools.permutations(range(len(value))), MOST_ORDERS):
            keys = list(value)
            for chosen in itertools.islice(itertools.product(*(children[i] for i in names)), MOST_ORDERS):
                yield {keys[i]: child for i, child in zip(names, chosen)}
    elif isinstance(value, list):
        yield from (list(items) for items in itertools.islice(itertools.product(*map(lambda v: list(orders(v)), value)), MOST_ORDERS))
    else:
        yield value


def text_of(value):
    return json.dumps(value, ensure_ascii=False)


def escaped(text):
    return '"' + "".join(f"\\u{unit:04x}" for unit in units(text)) + '"'


def units(text):
    raw = text.encode("utf-16-be", "surrogatepass")
    return [raw[i] << 8 | raw[i + 1] for i in range(0, len(raw), 2)]


def respelled(value, spell_key, spell_text, repeat):
    """JSON of the value, with keys and texts spelled by these, and each member `repeat` times."""
    if isinstance(value, dict):
        members = [f"{spell_key(key)}: {respelled(item, spell_key, spell_text, repeat)}" for key, item in value.items()]
        return "{" + ", ".join(member for member in members for _ in range(repeat)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(respelled(item, spell_key, spell_text, repeat) for item in value) + "]"
    return spell_text(value) if isinstance(value, str) else text_of(value)


def spellings(value, others):
    """Texts that all mean this value: escapes, members said twice, and members of other values said before."""
    found = [text_of(order) for order in itertools.islice(orders(value), MOST_ORDERS)]
    for key, text, repeat in itertools.product((text_of, escaped), (text_of, escaped), (1, 2)):
        found.append(respelled(value, key, text, repeat))
    if isinstance(value, dict) and value:
        for other in others:
            if isinstance(other, dict) and other and set(other) <= set(value):
                for key in (text_of, escaped):
                    members = text_of(other)[1:-1] + ", " + respelled(value, key, text_of, 1)[1:-1]
                    found.append("{" + members + "}")
    return list(dict.fromkeys(found))


class Checker:
    def __init__(self, binary, folder):
        self.process = subprocess.Popen([binary, "grammar-check", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, **question):
        print(json.dumps(question), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("foretoken-bench grammar-check ended")
        return json.loads(line)


class Report:
    def __init__(self):
        self.rows = collections.defaultdict(collections.Counter)
        self.refusals = collections.Counter()
        self.wrong, self.missing = [], []

    def refused(self, row, message):
        self.rows[row]["refused"] += 1
        self.refusals[re.sub(r"\(at .*", "", message)[:90]] += 1

    def print(self):
        print(f"{'':44} schemas refused  valid barred  invalid taken")
        for row, counts in sorted(self.rows.items()) + [("all", sum(self.rows.values(), collections.Counter()))]:
            print(f"{row:44} {counts['schemas']:7} {counts['refused']:7} {counts['valid']:6} {counts['barred']:6}"
                  f" {counts['invalid']:8} {counts['taken']:5}")
        for message, count in self.refusals.most_common():
            print(f"refused {count:4}: {message}")
        for line in self.missing:
            print("barred:", line)
        for line in self.wrong:
            print("TAKEN:", line)


def check_suite(checker, folder, report):
    is_draft7 = "draft7" in str(folder)
    for path in sorted(folder.rglob("*.json")):
        row = str(path.relative_to(folder))
        for group in json.loads(path.read_text()):
            schema = group["schema"]
            if is_draft7 and isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": DRAFT7, **schema}
            valid = [test["data"] for test in group["tests"] if test["valid"]]
            texts = [spellings(test["data"], valid if not test["valid"] else []) for test in group["tests"]]
            answer = checker.ask(source=json.dumps(schema), texts=sum(texts, []))
            counts = report.rows[row]
            counts["schemas"] += 1
            if "refused" in answer:
                report.refused(row, answer["refused"])
                continue
            verdicts = iter(answer["verdicts"])
            for test, spelled in zip(group["tests"], texts):
                taken = [text for text in spelled if next(verdicts) == "whole"]
                place = f"{row}: {group['description']}: {test['description']}: "
                if test["valid"]:
                    counts["valid"] += 1
                    if not taken:
                        counts["barred"] += 1
                        report.missing.append(place + text_of(test["data"])[:100])
                else:
                    counts["invalid"] += 1
                    if taken and not EXCUSED.match(place):
                        counts["taken"] += 1
                        report.wrong.append(place + taken[0][:100])


def check_schemas(checker, files, samples, report):
    import jsonschema
    for path in files:
        try:
            schema = json.loads(path.read_text())
        except ValueError as error:
            print(f"{path.name}: no JSON: {error}")
            continue
        answer = checker.ask(source=json.dumps(schema), samples=samples, seed=1)
        counts = report.rows[path.name[-44:]]
        counts["schemas"] += 1
        print(f"{path.name}: {answer['ms']:.0f} ms, {answer.get('refused', '')[:150]}"
              f"{len(answer.get('samples', []))} texts, {answer.get('unfinished', 0)} unfinished", flush=True)
        if "refused" in answer:
            report.refused(path.name[-44:], answer["refused"])
            continue
        kind = jsonschema.validators.validator_for(schema)
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
        for text in answer["samples"]:
            counts["invalid"] += 1
            fault = next(validator.iter_errors(json.loads(text)), None)
            if fault:
                counts["taken"] += 1
                report.wrong.append(f"{path.name}: {fault.message[:120]} at {list(fault.absolute_path)}: {text[:150]!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/foretoken-bench"))
    parser.add_argument("--tokenizer", default=str(ROOT / "models/demo"))
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--schemas", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--samples", type=int, default=20)
    args = parser.parse_args()
    report = Report()
    checker = Checker(args.binary, args.tokenizer)
    if args.suite:
        check_suite(checker, args.suite, report)
    check_schemas(checker, args.schemas, args.samples, report)
    report.print()
    sys.exit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
