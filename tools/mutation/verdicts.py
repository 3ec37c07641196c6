"""tools/mutations/drawn.toml: the scores of the samples drawn, and what reading said of every fault that survived.

A survivor is known by its file, its kind, the text of its line and what became what, so that it stays known when lines
move. Its verdict begins with `equivalent:` (nothing that the code promises changes; why) or with `test:` (the case that
was written for it).
"""
import json
import pathlib
import tomllib

PATH = pathlib.Path(__file__).resolve().parents[1] / "mutations/drawn.toml"


def read(path=PATH):
    """Key of a fault -> its verdict."""
    if not path.exists():
        return {}
    entries = tomllib.loads(path.read_text()).get("survivor", [])
    return {(e["file"], e["kind"], e["text"], e["detail"]): e["verdict"] for e in entries}


def is_equivalent(verdict):
    return verdict is not None and verdict.startswith("equivalent:")


def entry(fault, verdict=""):
    """A survivor as it stands in the file."""
    lines = ["[[survivor]]", f"file = {json.dumps(fault.file)}", f"kind = {json.dumps(fault.kind)}",
             f"text = {json.dumps(fault.text)}", f"detail = {json.dumps(fault.detail)}",
             f"verdict = {json.dumps(verdict)}"]
    return "\n".join(lines) + "\n"
