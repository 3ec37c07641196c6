"""Draws faults: which ones is settled by the text of the sources, the size of the sample and a seed alone.

Every room gets its share of the sample by the number of its possible faults, at least LEAST. In a room a file is
chosen with the probability of its share, and PER_FILE faults of it, because it is the files changed that a build
takes its time for; so every fault is as likely as any other. A fault that does not compile or overlaps one drawn before
gives way to the next of its file.
"""
import dataclasses
import random

from . import faults, rooms, tokens

LEAST = 8
PER_FILE = 3


@dataclasses.dataclass
class Drawn:
    """A fault in its place; `number` is what FORETOKEN_FAULT calls it."""
    number: int
    seed: int
    room: str
    file: str
    kind: str
    line: int
    text: str  # of the line
    detail: str
    start: int
    end: int
    code: str
    state: str = "in"  # or: does not compile

    def key(self):
        """What stays the same when lines move."""
        return (self.file, self.kind, self.text, self.detail)


def possible(root):
    """Room -> file -> all faults."""
    found = {}
    for room, paths in sorted(rooms.files(root).items()):
        found[room] = {}
        for path in paths:
            text = (root / path).read_text()
            of_file = faults.Generator(tokens.Source(text)).find()
            if of_file:
                found[room][path] = of_file
    return found


def shares(counts, size):
    """How many faults each room gives to a sample."""
    total = sum(counts.values())
    share = {room: max(min(LEAST, counts[room]), round(size * counts[room] / total)) for room in counts}
    while sum(share.values()) != size and total >= size:
        more = sum(share.values()) < size
        room = max(share, key=lambda r: (size * counts[r] / total - share[r]) * (1 if more else -1)
                   if more or share[r] > LEAST else -size)
        share[room] += 1 if more else -1
    return share


class Urn:
    """Deals the faults of one seed, room by room."""

    def __init__(self, root, found, size, seed):
        self.root, self.found, self.seed = root, found, seed
        self.random = random.Random(seed)
        self.share = shares({room: sum(map(len, files.values())) for room, files in found.items()}, size)
        self.left = {file: self.random.sample(of_file, len(of_file))
                     for files in found.values() for file, of_file in files.items()}

    def deal(self, taken):
        """The whole sample. `taken` holds what was drawn before, by this seed or another; it grows."""
        for room, share in self.share.items():
            have = sum(1 for drawn in taken if drawn.seed == self.seed and drawn.room == room and drawn.state == "in")
            # What gave way is replaced from its own file.
            missing = [drawn.file for drawn in taken if drawn.seed == self.seed and drawn.room == room
                       and drawn.state != "in"]
            for _ in range(50 * share):
                if have >= share:
                    break
                file = missing.pop() if missing else self._choose(room)
                for _ in range(1 if missing else min(PER_FILE, share - have)):
                    have += self._deal_from(room, file, taken)

    def _choose(self, room):
        files = self.found[room]
        return self.random.choices(list(files), [len(of_file) for of_file in files.values()])[0]

    def _deal_from(self, room, file, taken):
        text = (self.root / file).read_text()
        lines = text.splitlines()
        while self.left[file]:
            fault = self.left[file].pop()
            if any(d.file == file and (_overlap(d, fault) if d.state == "in" else d.code == fault.code) for d in taken):
                continue
            taken.append(Drawn(len(taken) + 1, self.seed, room, file, fault.kind, fault.line,
                               lines[fault.line - 1].strip(), fault.detail, fault.start, fault.end, fault.code))
            return 1
        return 0


def _overlap(a, b):
    return a.start < b.end and b.start < a.end
