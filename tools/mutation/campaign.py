"""`tools/mutate.py --draw N --seed S`: draws N faults over all rooms, compiles them in, and asks which of them the
rooms' tests notice.

Several seeds share one build. What was learned of a fault is kept in build/mutate/drawn.json as long as the text of its
file is the same: what was noticed stays noticed, and what survived is tried again. The score counts what was noticed
of all that tools/mutations/drawn.toml does not call equivalent, and is written there with the survivors, whose verdicts
are written by hand.
"""
import collections
import json
import subprocess
import sys
import time

from . import draw, rooms, schemata, suites, verdicts


def check(root, size, seeds):
    """Whether the sources give `size` faults for each seed. Draws the faults and builds nothing."""
    found = draw.possible(root)
    drawn = []
    for seed in seeds:
        draw.Urn(root, found, size, seed).deal(drawn)
    places = sum(len(of_file) for files in found.values() for of_file in files.values())
    print(f"mutate: {len(drawn)} faults drawn from {places}")
    return len(drawn) == size * len(seeds)


class Campaign:
    def __init__(self, root, size, seeds):
        self.root, self.size, self.seeds = root, size, seeds
        self.work = root / "build/mutate"
        self.work.mkdir(parents=True, exist_ok=True)
        self.kept = self.work / "drawn.json"
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
        self.tree = schemata.Tree(root, self.work / "drawn", head.stdout.strip())
        known = json.loads(self.kept.read_text()) if self.kept.exists() else {"results": {}, "numbers": {}}
        self.results = known["results"]  # identity -> [verdict, by]
        self.said = verdicts.Verdicts()
        self.numbers = known["numbers"]  # identity -> number, so that a file keeps its text from run to run
        found = draw.possible(root)
        self.urns = [draw.Urn(root, found, size, seed) for seed in seeds]
        self.drawn = []
        self._deal()

    def run(self):
        """True when at least nine of ten that are not equivalent were noticed, of every seed."""
        self.tree.prepare()
        for file in {fault.file for fault in self.drawn}:
            if self.tree.original(file) != (self.root / file).read_text():
                sys.exit(f"mutate: {file} differs from HEAD, of which the work tree is made")
        print(f"mutate: {len(self._inside())} faults in {len({f.file for f in self._inside()})} files", flush=True)
        self.tree.configure(self._inside())
        runner = suites.Suites(self.tree.path, self.work / "reached")
        # Room by room, so that the first results come before the last room is built.
        for room, own in rooms.SUITES.items():
            if self._pending(room):
                self._build(own)
                self._try_room(runner, room, own)
        return self.report()

    def _deal(self):
        """Fills the samples, with others for those that are known not to compile."""
        for fault in self.drawn:
            if fault.state != "in":
                self.results[fault.identity] = [fault.state, ""]
        dealt = -1
        while dealt != len(self.drawn):
            dealt = len(self.drawn)
            for urn in self.urns:
                urn.deal(self.drawn)
            for fault in self.drawn:
                fault.number = self.numbers.setdefault(fault.identity, len(self.numbers) + 1)
                if self.results.get(fault.identity, [""])[0] == "does not compile":
                    fault.state = "does not compile"
        self._save()

    def _build(self, own):
        targets = list(dict.fromkeys("foretoken" if suite in rooms.SCRIPTS else suite for suite in own))
        print(f"mutate: building {' '.join(targets)}", flush=True)
        self.tree.build(self._inside, targets, self._deal)

    def _inside(self):
        return [fault for fault in self.drawn if fault.state == "in"]

    def _pending(self, room):
        return [fault for fault in self._inside() if fault.room == room and self._judged(fault) not in ("noticed", "equivalent")]

    def _try_room(self, runner, room, own):
        for suite in own:
            runner.record(suite)
        for fault in sorted(self._pending(room), key=lambda f: self.seeds.index(f.seed)):
            self._try(runner, fault, own)

    def _try(self, runner, fault, own):
        begin = time.monotonic()
        reached = any(runner.reached[suite].get(fault.number) for suite in own)
        by = None
        for suite in own:
            by = by or runner.notices(suite, fault.number)
        verdict = "noticed" if by else "survived" if reached else "not reached"
        self.results[fault.identity] = [verdict, by or ""]
        self._save()
        print(f"{verdict:11} {fault.seed}/{fault.number} {fault.file}:{fault.line} {fault.kind}: {fault.detail[:80]} "
              f"| {by or fault.text[:100]} ({time.monotonic() - begin:.0f} s)", flush=True)

    def report(self):
        enough = True
        self.said.forget_unread()
        for seed in self.seeds:
            counts = collections.defaultdict(collections.Counter)
            for fault in (f for f in self._inside() if f.seed == seed):
                counts[fault.room][self._judged(fault)] += 1
            enough = _print_scores(seed, counts) and enough
            self.said.set_score(seed, self.size, {
                room: [of_room["noticed"], of_room["noticed"] + of_room["missed"], of_room["equivalent"],
                       of_room["untried"]] for room, of_room in sorted(counts.items())})
        self.said.write()
        return enough

    def _judged(self, fault):
        verdict = self.results.get(fault.identity, ["untried"])[0]
        if verdict != "noticed" and verdicts.is_equivalent(self.said.of(fault)):
            return "equivalent"
        if verdict in ("noticed", "untried"):
            return verdict
        self.said.add_survivor(fault)
        return "missed"

    def _save(self):
        kept = {"results": self.results, "numbers": self.numbers}
        fresh = self.kept.with_suffix(".new")
        fresh.write_text(json.dumps(kept, indent=1))
        fresh.replace(self.kept)


def _print_scores(seed, counts):
    total = collections.Counter()
    for room, of_room in counts.items():
        total.update(of_room)
        print(f"  {room:10} {_score(of_room)}")
    print(f"mutate: seed {seed}: {_score(total)}")
    judged = total["noticed"] + total["missed"]
    return total["untried"] == 0 and total["noticed"] >= 0.9 * judged


def _score(counts):
    judged = counts["noticed"] + counts["missed"]
    untried = f", {counts['untried']} untried" if counts["untried"] else ""
    return (f"{counts['noticed']} of {judged} noticed ({100 * counts['noticed'] / max(judged, 1):.1f} %), "
            f"{counts['equivalent']} equivalent{untried}")

