"""A work tree whose sources hold all drawn faults at once, each asleep until FORETOKEN_FAULT names it.

`Tree.build` builds suites and takes out what does not compile, until all does.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?(?:error|note):|"
                    r"^(?:In file included|\s+) from (?P<from>[^:\n]+):(?P<at>\d+)", re.M)
# The wrong versions may look odd; warnings must end no build that the project's own flags make strict.
_QUIET = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in (
    "parentheses", "unused-variable", "unused-value", "unused-but-set-variable", "sign-compare", "bool-operation",
    "implicit-fallthrough", "return-type", "int-in-bool-context", "type-limits", "div-by-zero", "maybe-uninitialized",
    "uninitialized", "dangling-else", "duplicated-branches", "empty-body", "bool-compare", "array-bounds", "overflow",
    "stringop-overflow", "stringop-overread", "unused-function", "unused-parameter", "misleading-indentation",
    "logical-not-parentheses", "dangling-pointer", "use-after-free", "free-nonheap-object", "restrict", "nonnull",
    "unused-result", "extra"))


class Tree:
    def __init__(self, root, path, head):
        self.root, self.path, self.head = root, path, head

    def prepare(self):
        if not (self.path / ".git").exists():
            self._must(["git", "worktree", "prune"], self.root)
            self._must(["git", "worktree", "add", "--detach", "--force", str(self.path), self.head], self.root)
        crates = self.path / "build/rust"
        if (self.root / "build/rust").exists() and not crates.exists():
            crates.parent.mkdir(exist_ok=True)
            shutil.copytree(self.root / "build/rust", crates, symlinks=True)
        for link, kept in ((self.path.parent / "shared", self.root.parent / "shared"),
                           (self.path / "build/vulkan", self.root / "build/vulkan")):
            if kept.exists() and not link.exists():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(kept)

    def original(self, file):
        return self._must(["git", "show", f"{self.head}:{file}"], self.root)

    def write(self, drawn):
        """The sources of HEAD with these faults; untouched files keep their time stamps."""
        before = set(self._must(["git", "ls-files"], self.path).splitlines())
        self._must(["git", "reset", "--quiet", self.head], self.path)
        after = set(self._must(["git", "ls-files"], self.path).splitlines())
        for file in before - after:
            (self.path / file).unlink(missing_ok=True)
        by_file = {}
        for fault in drawn:
            by_file.setdefault(fault.file, []).append(fault)
        changed = set(self._must(["git", "diff", "--name-only", self.head], self.path).splitlines())
        plain = sorted((changed & after) - set(by_file))
        if plain:
            self._must(["git", "checkout", "--quiet", self.head, "--", *plain], self.path)
        for file, faults in by_file.items():
            self._write(file, faults)
        _write_if_new(self.path / "src/fault_switch.h", _QUIET.join(_split((HERE / "fault_switch.h").read_text())))

    def _write(self, file, faults):
        text = self.original(file)
        for fault in sorted(faults, key=lambda f: -f.start):
            code = fault.code.replace("@N@", str(fault.number))
            text = text[:fault.start] + code + text[fault.end:]
        _write_if_new(self.path / file, '#include "fault_switch.h"\n#line 1\n' + text)

    def configure(self, drawn):
        self.write(drawn)
        options = ["-DFORETOKEN_WERROR=ON", "-DFORETOKEN_UNITY=OFF"]
        self._must(["cmake", "--preset", "release", "--log-level=WARNING", *options], self.path)

    def build(self, inside, targets, redraw):
        """Builds until everything compiles; what of inside() does not is marked, and redraw() asked for others."""
        while True:
            done = self._run(["nice", "-n", os.environ.get("FORETOKEN_NICE", "19"), "ninja", "-k0", "-C",
                              "build/release", "-j", os.environ.get("FORETOKEN_JOBS", "2"), *targets], self.path)
            if done.returncode == 0:
                return
            (self.path.parent / "drawn_build.log").write_text(done.stdout)
            bad = self._blamed(done.stdout, inside())
            if not bad:
                sys.exit(f"mutate: the build fails, and no fault is to blame:\n{done.stdout[-3000:]}")
            for fault in bad:
                fault.state = "does not compile"
            print(f"mutate: {len(bad)} faults do not compile; others are drawn", flush=True)
            redraw()
            self.write(inside())

    def _blamed(self, output, drawn):
        """The faults on lines that the compiler names; where it names none of a file that failed, all of that file."""
        named = {(os.path.relpath(os.path.join(self.path, "build/release", m["file"] or m["from"]), self.path),
                  int(m["line"] or m["at"])) for m in ERROR.finditer(output)}
        bad, guilty = [], set()
        for fault in drawn:
            length = self.original(fault.file)[fault.start:fault.end].count("\n")
            first = self.original(fault.file)[:fault.start].count("\n") + 1
            if any((fault.file, line) in named for line in range(first, first + length + 1)):
                bad.append(fault)
                guilty.add(fault.file)
        failed = set(re.findall(r"^FAILED: \S*\.dir/(\S+)\.o", output, re.M))
        for fault in drawn:
            if fault.file not in guilty and any(fault.file.endswith("/" + name) for name in failed):
                bad.append(fault)
        return bad

    def _environment(self):
        return {**os.environ, "CCACHE_BASEDIR": str(self.path), "CCACHE_NOHASHDIR": "1",
                "PATH": os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin")}

    def _run(self, command, where):
        return subprocess.run(command, cwd=where, env=self._environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")

    def _must(self, command, where):
        done = self._run(command, where)
        if done.returncode:
            sys.exit(f"mutate: {' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
        return done.stdout


def _split(text):
    """Before and after `#pragma once`, where the warnings are switched off."""
    head, tail = text.split("#pragma once\n")
    return head + "#pragma once\n", tail


def _write_if_new(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
