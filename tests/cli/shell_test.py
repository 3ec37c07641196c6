#!/usr/bin/env python3
"""Completions in the shells that there are, and the page of man.

Usage: shell_test.py PATH_OF_PROGRAM.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def printed(*words):
    return subprocess.run([PROGRAM, "help", *words], capture_output=True, text=True, check=True, timeout=60).stdout


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


class Completions(unittest.TestCase):
    def bash(self, *words):
        """What bash completes the last word to."""
        script = (f'eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _foretoken\n'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", script, "bash", printed("--completions", "bash"), "foretoken", *words],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    @needs("bash")
    def test_bash_completes_commands_flags_and_values(self):
        self.assertEqual(self.bash("se"), ["serve"])
        self.assertIn("help", self.bash(""))
        self.assertEqual(self.bash("serve", "--speculative-alg"), ["--speculative-algorithm", "--speculative-algo"])
        self.assertEqual(self.bash("serve", "--dtype", "bf"), ["bfloat16"])
        self.assertEqual(self.bash("serve", "--dtype", "=", "bf"), ["bfloat16"])
        self.assertEqual(sorted(self.bash("serve", "--sampling-defaults", "=")), ["model", "openai"])
        self.assertEqual(self.bash("serve", "--disable-ui", "--enable-met"), ["--enable-metrics"])
        self.assertEqual(self.bash("chat", "--ur"), ["--url"])
        self.assertEqual(self.bash("serve", "--ur"), [])
        self.assertEqual(self.bash("serve", "--port", ""), [])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.bash("serve", "--model-path", folder[:-1]), [folder])

    @needs("zsh")
    def test_zsh_reads_its_completions(self):
        subprocess.run(["zsh", "-n"], input=printed("--completions", "zsh"), text=True, check=True, timeout=60)

    @needs("fish")
    def test_fish_completes_values(self):
        script = printed("--completions", "fish") + '\ncomplete -C "foretoken serve --dtype bf"\n'
        result = subprocess.run(["fish"], input=script, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.stdout.split()[:1], ["bfloat16"], result.stderr)

    def test_other_shells_are_refused(self):
        result = subprocess.run([PROGRAM, "help", "--completions", "tcsh"], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("bash, zsh or fish", result.stderr)


class ManPage(unittest.TestCase):
    @needs("groff")
    def test_the_page_is_set_without_a_warning(self):
        result = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-c"], input=printed("--man"),
                                capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        shown = re.sub(".\x08", "", result.stdout)  # bold is struck twice
        for part in ["NAME", "foretoken serve [--model DIR]", "--speculative-algorithm", "EXIT STATUS"]:
            self.assertIn(part, shown)

    @needs("man")
    def test_man_shows_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as page:
            page.write(printed("--man"))
            page.flush()
            result = subprocess.run(["man", "--warnings", "-l", page.name], capture_output=True, text=True, timeout=60,
                                    env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("foretoken", result.stdout)


if __name__ == "__main__":
    unittest.main()
