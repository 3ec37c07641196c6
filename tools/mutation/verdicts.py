"""tools/mutations/drawn.toml: the scores of the samples drawn, and what reading said of every fault that survived.

A survivor is known by its file, its kind, the text of its line and what became what, so that it stays known when lines
move. Its verdict begins with `equivalent:` (nothing that the code promises changes; why) or with `test:` (the case that
was written for it) or with `open:` (nothing notices it; why), or is empty as long as nobody has read it. A run writes scores and new survivors, verdicts are
written by hand.
"""
import json
import pathlib
import tomllib

PATH = pathlib.Path(__file__).resolve().parents[1] / "mutations/drawn.toml"
HEAD = """\
# Faults that `tools/mutate.py --draw` drew: the scores of samples, and what reading said of every fault that survived.
# tools/mutation/verdicts.py says what the fields mean.
"""


class Verdicts:
    def __init__(self, path=PATH):
        self._path = path
        kept = tomllib.loads(path.read_text()) if path.exists() else {}
        self._scores = {(score["seed"], score["drawn"]): score for score in kept.get("score", [])}
        self._survivors = {_key(entry): entry for entry in kept.get("survivor", [])}

    def of(self, fault):
        """None where nobody has said anything yet."""
        entry = self._survivors.get(fault.key())
        return (entry["verdict"] or None) if entry else None

    def forget_unread(self):
        """Before survivors are added: what nobody has read and is no survivor any more leaves the list."""
        self._survivors = {key: entry for key, entry in self._survivors.items() if entry["verdict"]}

    def add_survivor(self, fault):
        entry = {"file": fault.file, "kind": fault.kind, "text": fault.text, "detail": fault.detail, "verdict": ""}
        self._survivors.setdefault(fault.key(), entry)

    def set_score(self, seed, drawn, by_room):
        """`by_room`: room -> [noticed, of how many that are not equivalent, equivalent, not tried yet]."""
        total = [sum(numbers) for numbers in zip(*by_room.values())]
        self._scores[seed, drawn] = {"seed": seed, "drawn": drawn, "total": total, **by_room}

    def write(self):
        blocks = [HEAD + "# Scores: noticed, of how many that are not equivalent, how many are equivalent, and how many were not tried yet.\n"]
        blocks += [_block("score", score) for _, score in sorted(self._scores.items())]
        blocks += [_block("survivor", entry) for _, entry in sorted(self._survivors.items())]
        self._path.write_text("\n".join(blocks))


def is_equivalent(verdict):
    return verdict is not None and verdict.startswith("equivalent:")


def _key(entry):
    return (entry["file"], entry["kind"], entry["text"], entry["detail"])


def _block(name, fields):
    return "\n".join([f"[[{name}]]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}"
                                       for key, value in fields.items())]) + "\n"
