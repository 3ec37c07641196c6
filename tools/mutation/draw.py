"""Draws faults: which ones is settled by the text of the sources, the size of the sample and a seed alone.

Every room gets its share of the sample by the number of its possible faults, at least LEAST. It is the files changed
that a build takes its time for. So the faults of a file are put into groups of about PER_FILE by chance, and groups are
drawn: every fault is as likely as any other. A fault that does not compile or overlaps one drawn before gives way to
the next of its file.

A group has its place by a hash of the seed, the file and its number, and no stream of random numbers is used up: a
change of one file leaves what is drawn of others as it is.
"""
import dataclasses
import hashlib

from . import faults, rooms, tokens

LEAST = 8
PER_FILE = 3


@dataclasses.dataclass
class Drawn:
    """A fault in its place. `identity` also stands for the text of its file; FORETOKEN_FAULT calls it `number`."""
    identity: str
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
    number: int = 0

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
        self.seed = seed
        self.share = shares({room: sum(map(len, files.values())) for room, files in found.items()}, size)
        texts = {file: (root / file).read_text() for files in found.values() for file in files}
        self.lines = {file: text.splitlines() for file, text in texts.items()}
        self.digests = {file: hashlib.sha256(text.encode()).hexdigest() for file, text in texts.items()}
        self.groups = {}  # room -> [file, faults] in the order of drawing
        for room, files in found.items():
            ranked = [group for file, of_file in files.items() for group in self._groups_of(file, of_file)]
            self.groups[room] = [group[1:] for group in sorted(ranked, key=lambda group: group[0])]

    def deal(self, taken):
        """The whole sample. `taken` holds what was drawn before, by this seed or another; it grows."""
        for room, share in self.share.items():
            mine = [drawn for drawn in taken if drawn.seed == self.seed and drawn.room == room]
            need = share - sum(1 for drawn in mine if drawn.state == "in")
            # What gave way is replaced from its own file.
            for gone in [drawn.file for drawn in mine if drawn.state != "in"][:need]:
                need -= self._deal([group for group in self.groups[room] if group[0] == gone], 1, room, taken)
            self._deal(self.groups[room], need, room, taken)

    def _groups_of(self, file, of_file):
        count = -(-len(of_file) // PER_FILE)
        groups = [[] for _ in range(count)]
        times = {}  # the same fault twice in a file
        for fault in of_file:
            key = f"{fault.kind} {fault.detail} {self.lines[file][fault.line - 1].strip()}"
            times[key] = times.get(key, 0) + 1
            rank = self._rank(f"{file} {key} {times[key]}")
            groups[rank % count].append((rank // count, fault))
        return [(self._rank(f"{file} {i}"), file, [fault for _, fault in sorted(group, key=lambda each: each[0])])
                for i, group in enumerate(groups)]

    def _rank(self, text):
        return int.from_bytes(hashlib.sha256(f"{self.seed} {text}".encode()).digest()[:8], "big")

    def _deal(self, groups, need, room, taken):
        """Deals up to `need` faults; how many."""
        dealt = 0
        for file, of_group in groups:
            while of_group and dealt < need:
                fault = of_group.pop(0)
                if any(_excludes(drawn, file, fault) for drawn in taken):
                    continue
                identity = hashlib.sha256(f"{self.digests[file]} {fault.start} {fault.code}".encode()).hexdigest()[:16]
                taken.append(Drawn(identity, self.seed, room, file, fault.kind, fault.line,
                                   self.lines[file][fault.line - 1].strip(), fault.detail, fault.start, fault.end,
                                   fault.code))
                dealt += 1
        return dealt


def _excludes(drawn, file, fault):
    """Whether a fault drawn before overlaps this one, or is it and did not compile."""
    if drawn.file != file:
        return False
    if drawn.state == "in":
        return drawn.start < fault.end and fault.start < drawn.end
    return (drawn.start, drawn.code) == (fault.start, fault.code)
