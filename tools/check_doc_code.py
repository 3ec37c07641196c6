#!/usr/bin/env python3
"""Checks that what the documents for maintainers quote is in the tree. What else is asked of documents: check_docs.py.

In every document of docs/develop
  - a block of C++ names the file that it is taken from, ```cpp path/of/file.cc, and its lines are in that file, one after
    the other: indentation and empty lines do not count, and a line "// ..." stands for lines left out;
  - a name in backticks without a path, `name.h`, is that of some source.
With --self-test, checks that each rule fires on a made-up document.
"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = "docs/develop"
LEFT_OUT = "// ..."
NAME = re.compile(r"`([A-Za-z0-9_]+\.(?:h|cc|py|sh|toml|rs))`")


def blocks_of(lines):
    """(number of its first line, what follows the ticks, lines) of each fenced block."""
    info, first, block = None, 0, []
    for number, line in enumerate(lines, 1):
        if line.startswith("```") and info is None:
            info, first, block = line[3:].strip(), number, []
        elif line.startswith("```"):
            yield first, info, block
            info = None
        elif info is not None:
            block.append(line)


def significant(lines):
    return [line.strip() for line in lines if line.strip()]


def pieces_of(block):
    pieces = [[]]
    for line in significant(block):
        if line == LEFT_OUT:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return [piece for piece in pieces if piece]


def missing_line(block, source):
    """The first line of the piece that does not follow in the source, or None."""
    at = 0
    for piece in pieces_of(block):
        places = [i for i in range(at, len(source)) if source[i : i + len(piece)] == piece]
        if not places:
            return piece[0]
        at = places[0] + len(piece)
    return None


def code_faults(lines, root):
    for number, info, block in blocks_of(lines):
        words = info.split()
        if not words or words[0] != "cpp":
            continue
        if len(words) != 2:
            yield number, "a block of C++ without the file that it is taken from"
            continue
        file = root / words[1]
        if not file.is_file():
            yield number, f"{words[1]} does not exist"
            continue
        missing = missing_line(block, significant(file.read_text().split("\n")))
        if missing is not None:
            yield number, f'{words[1]} has no "{missing}" with what follows it here'


def names_of(root):
    """The names of all sources."""
    folders = [root / name for name in ("src", "tests", "bench", "tools")]
    return {file.name for folder in folders for file in folder.rglob("*.*")}


def name_faults(lines, names):
    for number, line in enumerate(lines, 1):
        for name in NAME.findall(line):
            if name not in names:
                yield number, f"no source is called {name}"


def check(root):
    faults, names = [], names_of(root)
    for document in sorted((root / FOLDER).rglob("*.md")):
        lines = document.read_text().split("\n")
        name = document.relative_to(root).as_posix()
        found = sorted([*code_faults(lines, root), *name_faults(lines, names)])
        faults += [f"{name}:{number}: {fault}" for number, fault in found]
    return faults


SOURCE = "int f() {\n  // One.\n\n  return 1;\n}\nint g() { return 2; }\n"
# A document and how many faults it has.
CASES = [
    ("```cpp src/a.cc\n// One.\nreturn 1;\n```\n", 0),
    ("```cpp src/a.cc\nint f() {\n// ...\nint g() { return 2; }\n```\n", 0),
    ("`a.cc`, `src/b.cc`, b.cc, `b.cc:7`\n", 0),
    ("```\nint h();\n```\n```sh\nsrc/b.cc\n```\n", 0),
    ("```cpp src/a.cc\nreturn 3;\n```\n", 1),
    ("```cpp src/a.cc\nint f() {\nreturn 1;\n```\n", 1),
    ("```cpp src/a.cc\nint g() { return 2; }\n// ...\nint f() {\n```\n", 1),
    ("```cpp\nint f() {\n```\n", 1),
    ("```cpp src/b.cc\nint f() {\n```\n", 1),
    ("`a.cc` but `b.cc`\n", 1),
]


def self_test():
    wrong = []
    for text, wanted in CASES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            (root / "src/a.cc").write_text(SOURCE)
            (root / FOLDER).mkdir(parents=True)
            (root / FOLDER / "a.md").write_text(text)
            found = check(root)
        if len(found) != wanted:
            wrong.append(f"self test: {wanted} faults expected in {text[:60]!r}, found {found}")
    return wrong


def main():
    faults = self_test() if "--self-test" in sys.argv else check(ROOT)
    print("\n".join(faults) if faults else "code in documents: no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
