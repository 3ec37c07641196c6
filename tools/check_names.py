#!/usr/bin/env python3
"""Checks that no unnamed namespace hides a name of a header.

Files of a target are compiled together (cmake/foretoken.cmake), so that a name in an unnamed namespace of one file is
found before the same name in `foretoken` by all files behind it. Where both would take the call, nobody is told. So
names of functions, constants and types in unnamed namespaces differ from those that headers within reach declare.
Files in a namespace of their own (foretoken::<file>) hide nothing from others.

With --self-test, checks that the rule fires on a made-up violation.
"""
import collections
import pathlib
import re
import sys

NO_FUNCTION = "namespace|using|struct|class|enum|template|return|static_assert|extern|typedef|friend|case|else"
FUNCTION = re.compile(rf"^(?!(?:{NO_FUNCTION})\b)[A-Za-z_][\w:<>,&* \[\]]*?[ &*>]([a-z_]\w*)\(", re.MULTILINE)
CONSTANT = re.compile(r"^(?:inline |static )?const(?:expr|init)? [\w:<>,&* ]*?\b(k[A-Z]\w*)", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)\b(?!;)|^using (\w+) =", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.MULTILINE | re.DOTALL)
IN_FORETOKEN = re.compile(r"^namespace foretoken \{$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def names(text):
    types = {first or second for first, second in TYPE.findall(text)}
    return set(FUNCTION.findall(text)) | set(CONSTANT.findall(text)) | types


def declared(header):
    """What a header declares in `foretoken` itself."""
    return names(header) if IN_FORETOKEN.search(header) else set()


def hidden_names(source):
    """What the unnamed namespaces of a file hide from the files behind it."""
    if not IN_FORETOKEN.search(source):
        return set()
    return set().union(*map(names, UNNAMED.findall(source)), set())


def group(path):
    """Files that may be compiled together."""
    folders = path.split("/")
    is_test = path.endswith("_test.cc") or "/testing/" in path
    return folders[0] + "/" + folders[1] + (" tests" if is_test else "") if len(folders) > 2 else folders[0]


def check(files):
    """files: text by path, sources and headers."""
    def header(name):
        return next((base + name for base in ("src/", "tests/", "") if base + name in files), None)

    reach = collections.defaultdict(set)
    for path in files:
        waiting = [path] if path.endswith(".cc") else []
        while waiting:
            for target in map(header, INCLUDE.findall(files[waiting.pop()])):
                if target and target not in reach[group(path)]:
                    reach[group(path)].add(target)
                    waiting.append(target)
    holders = collections.defaultdict(set)
    for path, text in files.items():
        if path.endswith(".h"):
            for name in declared(text):
                holders[name].add(path)
    faults = []
    for path, text in sorted(files.items()):
        if not path.endswith(".cc"):
            continue
        for name in sorted(hidden_names(text)):
            if found := sorted(holders[name] & reach[group(path)]):
                faults.append(f"{path}: {name} hides that of {found[0]}")
    return faults


def self_test():
    header = "namespace foretoken {\nint shared(int a);\n}\n"
    hides = '#include "a/a.h"\nnamespace foretoken {\nnamespace {\nint shared(int a) { return a; }\n}  // namespace\n}\n'
    wrong = []
    if not check({"src/a/a.h": header, "src/a/b.cc": hides}):
        wrong.append("a hidden function is not found")
    if not check({"src/a/a.h": header, "src/a/b.cc": hides.replace("#include", "//"), "src/a/c.cc": '#include "a/a.h"\n'}):
        wrong.append("a function hidden from another file is not found")
    if check({"src/a/a.h": header, "src/b/b.cc": hides.replace("#include", "//")}):
        wrong.append("a header that nothing includes is taken for hidden")
    if check({"src/a/a.h": header, "src/a/b.cc": hides.replace("namespace foretoken {", "namespace foretoken::b {")}):
        wrong.append("a namespace of its own is refused")
    return ["self test: " + line for line in wrong]


def main():
    root = pathlib.Path(__file__).parents[1]
    files = {path.relative_to(root).as_posix(): path.read_text()
             for folder in ("src", "tests", "bench") for path in (root / folder).rglob("*") if path.suffix in (".h", ".cc")}
    faults = self_test() if "--self-test" in sys.argv else check(files)
    print("\n".join(faults) if faults else "names: no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
