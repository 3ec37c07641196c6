#!/usr/bin/env python3
"""Runs the commands of README.md, CONTRIBUTING.md and docs/**/*.md, page by page, top to bottom.

Usage: commands_test.py ROOT BUILD [PAGE...]

The language of a fenced block says what becomes of it:
  sh      run by bash in a copy of the tree made of links; every command must succeed
  python  run where the openai package is installed, else only compiled
  json    must parse
  other   shown only (`text`: what needs the network, a GPU, models of the reader's own, or hours)

In these blocks `foretoken serve` returns once the server answers. The server stays until the next one or
the end of the page, and http://127.0.0.1:30000 is the address of it. stage.py says what else is played by
a stand-in. Nothing depends on the clock: time limits end what hangs.
"""
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import unittest

from stage import Stage

ROOT = pathlib.Path(sys.argv[1]).resolve()
BUILD = pathlib.Path(sys.argv[2]).resolve()
FENCE = re.compile(r"^(`{3,})([\w+-]*)[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def blocks_of(text):
    """(line, language, content) of each fenced block."""
    return [(text.count("\n", 0, fence.start()) + 1, fence[2], fence[3]) for fence in FENCE.finditer(text)]


def pages():
    named = [pathlib.Path(page).resolve() for page in sys.argv[3:]]
    return named or [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class BlocksTest(unittest.TestCase):
    """The rules of this test, on planted blocks."""

    def test_blocks_are_found_with_language_and_line(self):
        text = "a\n```sh\ntrue\n```\n\n```text\nno\n```\n````\n```sh\nno\n```\n````\n"
        self.assertEqual(blocks_of(text), [(2, "sh", "true\n"), (6, "text", "no\n"), (9, "", "```sh\nno\n```\n")])

    def test_a_command_that_fails_in_the_middle_of_a_block_fails(self):
        with Stage(ROOT, BUILD) as stage:
            self.assertEqual(stage.run("true\n").returncode, 0)
            self.assertNotEqual(stage.run("false\ntrue\n").returncode, 0)
            self.assertNotEqual(stage.run("false | cat\n").returncode, 0)

    def test_what_is_not_in_the_tree_is_refused_by_stand_ins(self):
        with Stage(ROOT, BUILD) as stage:
            for command in ["tools/build.sh fast", "tools/build.sh release no_such_tests", "tools/fuzz.sh 60 no_such",
                            "tools/test.sh now", "build/release/foretoken serve --prot 1",
                            "tools/mutate.py --only no_such"]:
                self.assertNotEqual(stage.run(command).returncode, 0, command)

    def test_a_request_that_the_server_refuses_fails(self):
        with Stage(ROOT, BUILD) as stage:
            ask = "curl http://127.0.0.1:30000/"
            self.assertEqual(stage.run("foretoken serve --model models/demo\n").returncode, 0)
            self.assertEqual(stage.run(ask + "v1/models\n").returncode, 0)
            self.assertNotEqual(stage.run(ask + "no_such_route\n").returncode, 0)


class FlagsTest(unittest.TestCase):
    OTHERS = {"--help", "--version", "--markdown", "--flag", "--gtest_filter", "--only", "--check",
              "--test-dir", "--install", "--man", "--completions", "--repair",
              "--policy", "--worker-urls", "--replicas", "--router", "--balance-abs-threshold",
              "--minutes", "--draft-vocab", "--max-length", "--taps-gib", "--speed", "--server-flags", "--url"}

    def test_every_flag_that_users_read_of_is_in_the_reference(self):
        reference = set(re.findall(r"`(--[\w-]+)`", (ROOT / "docs/use/flags.md").read_text())) | self.OTHERS
        self.assertGreater(len(reference), 400)
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/use").glob("*.md"))]:
            text = FENCE.sub("", page.read_text())
            for span in re.findall(r"`([^`\n]+)`", text):
                for flag in re.findall(r"(?<![\w-])--[a-z][\w-]+", span):
                    self.assertTrue(flag in reference, f"{page.name}: {flag}")


class CommandsTest(unittest.TestCase):
    def check(self, stage, language, content):
        """Why the block does not do, or None."""
        if language == "sh":
            done = stage.run(content)
        elif language == "python":
            compile(content, "block", "exec")
            if importlib.util.find_spec("openai") is None:
                return None
            done = subprocess.run([sys.executable, "-c", stage.address(content)], capture_output=True, text=True)
        else:
            if language == "json":
                json.loads(content)
            return None
        return done.returncode and f"ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}"

    def run_page(self, page):
        with Stage(ROOT, BUILD) as stage:
            for line, language, content in blocks_of(page.read_text()):
                with self.subTest(f"{page.relative_to(ROOT)}:{line}"):
                    fault = self.check(stage, language, content)
                    if fault:
                        self.fail(f"{content}{fault}")


for _page in pages():
    _name = "test_" + re.sub(r"\W", "_", str(_page.relative_to(ROOT)))
    setattr(CommandsTest, _name, lambda self, page=_page: self.run_page(page))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
