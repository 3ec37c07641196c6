#!/usr/bin/env python3
"""Puts faults into the code one at a time and asks whether the tests notice.

The faults are those of tools/mutations/*.toml: one replacement in one file each, and the suites that
should fail. Every fault is built and tested in a work tree of HEAD under build/mutate, never here.
Results are kept in build/mutate/results.json, so a run may be ended and taken up: what was caught stays caught while
fault and HEAD's version of its file are the same, everything else is tried again. The case that caught a fault
before runs first, or the cases that the list names for its file; only where they pass do the whole suites run. The
last line is the score: caught of all that are not equivalent.
Exit code 1 when a fault was missed, does not apply any more, or does not compile.

  tools/mutate.py                       all faults
  tools/mutate.py --only kv --only NAME folders or single faults
  tools/mutate.py --sample 20 --seed 3  some of them
  tools/mutate.py --check               only whether every fault still applies

With --draw they are not those of the list, but drawn from all that a generator finds (tools/mutation):

  tools/mutate.py --draw 300 --seed 7            over all rooms; may be ended and taken up
  tools/mutate.py --draw 300 --seed 7 --seed 8   two samples in one build
  tools/mutate.py --draw 300 --seed 7 --report   what is known so far
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import tomllib

from mutation import campaign, self_test, verdicts

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build/mutate"
TREE = WORK / "tree"
BUILD = TREE / "build/release"
RESULTS = WORK / "results.json"
TEST_SECONDS = 240


class Mutation:
    def __init__(self, group, tests, cases, entry):
        self.group = group
        self.name = entry["name"]
        self.file = entry["file"]
        self.find = entry["find"]
        self.replace = entry["replace"]
        self.tests = entry.get("tests", tests)
        self.cases = cases.get(self.file)  # a filter of GoogleTest: what should fail
        self.equivalent = entry.get("equivalent")

    def faults_in(self, text):
        """Why the fault cannot be put into this text, or None."""
        count = text.count(self.find)
        return None if count == 1 else f"{self.file} holds its text {count} times, not once"

    def key(self, text):
        parts = [self.name, self.find, self.replace, " ".join(self.tests), text]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def read_mutations():
    found = []
    for path in sorted(set((ROOT / "tools/mutations").glob("*.toml")) - {verdicts.PATH}):
        group = tomllib.loads(path.read_text())
        found += [Mutation(path.stem, group["tests"], group.get("cases", {}), entry) for entry in group["mutation"]]
    names = [mutation.name for mutation in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"mutate: two faults are called {', '.join(sorted(twice))}")
    return found


def choose(mutations, args):
    if args.only:
        mutations = [m for m in mutations if m.group in args.only or m.name in args.only]
    if args.sample is not None and args.sample < len(mutations):
        mutations = random.Random(args.seed[0]).sample(mutations, args.sample)
    return mutations


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def must(command, **options):
    done = run(command, **options)
    if done.returncode:
        sys.exit(f"mutate: {' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def environment():
    return {**os.environ, "CCACHE_BASEDIR": str(TREE), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1",
            "PATH": os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin")}


def prepare():
    """A clean work tree of HEAD, configured."""
    head = must(["git", "rev-parse", "HEAD"], cwd=ROOT).strip()
    if not (TREE / ".git").exists():
        must(["git", "worktree", "prune"], cwd=ROOT)
        must(["git", "worktree", "add", "--detach", "--force", str(TREE), head], cwd=ROOT)
    must(["git", "checkout", "--quiet", "--force", "--detach", head], cwd=TREE)
    crates = TREE / "build/rust"
    if (ROOT / "build/rust").exists() and not crates.exists():
        crates.parent.mkdir(exist_ok=True)
        must(["cp", "-a", str(ROOT / "build/rust"), str(crates)])
    alone = "-DFORETOKEN_UNITY=OFF"  # a fault changes one file
    must(["cmake", "--preset", "release", "--log-level=WARNING", alone], cwd=TREE, env=environment())


def build(targets):
    return run(["ninja", "-C", str(BUILD), *targets], env=environment())


def binary_of(test):
    for path in BUILD.rglob(test):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    sys.exit(f"mutate: no test program {test}")


def first_failure(tests, cases="*"):
    """What noticed the fault: the first failing case, or None when all suites pass."""
    for test in tests:
        try:
            done = run([str(binary_of(test)), "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={cases}"],
                       cwd=TREE, timeout=TEST_SECONDS, errors="replace")
        except subprocess.TimeoutExpired:
            return f"{test} took longer than {TEST_SECONDS} s"
        if done.returncode:
            failed = [line for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
            return failed[0][12:].split(" (")[0].split(", where")[0].strip() if failed else f"{test} crashed"
    return None


def verdict_of(mutation, text, first_cases):
    """(caught | missed | does not compile, by what)."""
    path = TREE / mutation.file
    path.write_text(text.replace(mutation.find, mutation.replace))
    try:
        built = build(mutation.tests)
        if built.returncode:
            errors = [line for line in built.stdout.splitlines() if "error:" in line]
            return "does not compile", errors[0] if errors else built.stdout[-300:]
        by = first_cases and first_failure(mutation.tests, first_cases)
        by = by or first_failure(mutation.tests)
        return ("caught", by) if by else ("missed", "")
    finally:
        path.write_text(text)


def check_baseline(mutations):
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    print(f"mutate: building and running {' '.join(tests)} without faults", flush=True)
    built = build(tests)
    if built.returncode:
        sys.exit(f"mutate: the tree does not build without faults:\n{built.stdout[-3000:]}")
    failure = first_failure(tests)
    if failure:
        sys.exit(f"mutate: without any fault there fails: {failure}")


def try_all(mutations):
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    texts = {m.file: (TREE / m.file).read_text() for m in mutations}
    known = {key: result for key, result in known.items() if result["verdict"] == "caught"}
    caught_by = {result["name"]: result["by"] for result in known.values() if " " not in result["by"]}
    pending = [m for m in mutations if m.key(texts[m.file]) not in known]
    if pending:
        check_baseline(pending)
    for mutation in mutations:
        key = mutation.key(texts[mutation.file])
        if key not in known:
            begin = time.monotonic()
            verdict, by = verdict_of(mutation, texts[mutation.file], caught_by.get(mutation.name, mutation.cases))
            known[key] = {"name": mutation.name, "verdict": verdict, "by": by,
                          "seconds": round(time.monotonic() - begin)}
            RESULTS.write_text(json.dumps(known, indent=1))
        yield mutation, known[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="a folder or a fault; may be repeated")
    parser.add_argument("--sample", type=int, help="this many, chosen at random")
    parser.add_argument("--seed", type=int, action="append", help="of the choice; with --draw it may be repeated")
    parser.add_argument("--check", action="store_true", help="only whether every fault still applies")
    parser.add_argument("--draw", type=int, metavar="N", help="N faults of the generator instead of the list")
    parser.add_argument("--report", action="store_true", help="with --draw: only what is known so far")
    parser.add_argument("--self-test", action="store_true", help="whether the generator finds what it should")
    args = parser.parse_args()
    if args.self_test:
        wrong = self_test.run()
        print("\n".join(wrong) if wrong else "mutate: no fault in the generator")
        sys.exit(1 if wrong else 0)
    args.seed = args.seed or [0]
    if args.draw:
        if args.check:
            sys.exit(0 if campaign.check(ROOT, args.draw, args.seed) else 1)
        drawn = campaign.Campaign(ROOT, args.draw, args.seed)
        sys.exit(0 if (drawn.report() if args.report else drawn.run()) else 1)

    mutations = choose(read_mutations(), args)
    stale = [(m, m.faults_in((ROOT / m.file).read_text())) for m in mutations]
    stale = [(m, why) for m, why in stale if why]
    for mutation, why in stale:
        print(f"STALE    {mutation.group}/{mutation.name}: {why}")
    if args.check:
        print(f"mutate: {len(mutations) - len(stale)} of {len(mutations)} faults apply")
        sys.exit(1 if stale else 0)

    WORK.mkdir(parents=True, exist_ok=True)
    prepare()
    gone = {m.name for m, _ in stale}
    counts = {"caught": 0, "missed": 0, "does not compile": 0}
    equivalent = 0
    applicable = [m for m in mutations if m.name not in gone and (TREE / m.file).exists()
                  and m.faults_in((TREE / m.file).read_text()) is None]
    for mutation, result in try_all([m for m in applicable if not m.equivalent]):
        counts[result["verdict"]] += 1
        print(f"{result['verdict'].upper():8} {mutation.group}/{mutation.name}: {result['by']} "
              f"({result['seconds']} s)", flush=True)
    equivalent = sum(1 for m in applicable if m.equivalent)
    judged = counts["caught"] + counts["missed"]
    print(f"mutate: {counts['caught']} of {judged} caught ({100 * counts['caught'] / max(judged, 1):.1f} %), "
          f"{equivalent} equivalent, {len(stale)} stale, {counts['does not compile']} do not compile")
    sys.exit(1 if counts["missed"] or counts["does not compile"] or stale else 0)


if __name__ == "__main__":
    main()
