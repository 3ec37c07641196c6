#!/usr/bin/env python3
"""The scripts that a newcomer meets first, tools/setup.sh and tools/serve_demo.sh, with everything
outside of them (apt, dpkg, cargo, the built program) played by small programs on PATH.

Usage: tools_test.py PATH_OF_TOOLS
"""
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv.pop(1)).resolve()

PROGRAM = ("cmake ninja-build g++ make libspdlog-dev libfmt-dev prometheus-cpp-dev "
           "libcurl4-openssl-dev libssl-dev libvulkan-dev python3 curl ca-certificates").split()
SUITES = "ccache libgtest-dev libgmock-dev python3-venv".split()
TESTS = "clang-format-19 chromium chromium-driver g++-aarch64-linux-gnu qemu-user-static".split()

# $STATE/installed and $STATE/offered hold "NAME VERSION" lines; $STATE/mentioned names without a candidate.
FAKES = {
    "apt-cache": """
case "$1" in
  pkgnames) cut -d' ' -f1 "$STATE/offered" "$STATE/mentioned" | grep "^$2" ;;
  policy) shift
    for name in "$@"; do
      version=$(sed -n "s/^$name //p" "$STATE/offered")
      if [ -n "$version" ] || grep -qx "$name" "$STATE/mentioned"; then
        printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n  Version table:\\n' "$name" "${version:-(none)}"
      fi
    done ;;
esac
""",
    "apt-get": """
for word in "$@"; do [ "$word" = install ] && installs=1; done
echo "$@" >>"$STATE/apt-get.log"
[ -z "${installs:-}" ] && exit 0
while [ "$1" != install ]; do shift; done
for word in "$@"; do
  case "$word" in install | -*) continue ;; esac
  grep "^$word " "$STATE/offered" >>"$STATE/installed" || exit 100
done
""",
    "dpkg-query": """
name=${@: -1}
case "$name" in
  *\\**) grep "^${name%%\\**}" "$STATE/installed" | cut -d' ' -f1 ;;
  *) grep -q "^$name " "$STATE/installed" && printf installed ;;
esac
""",
    "cargo": """
version=$(sed -n 's/^cargo\\(-web\\|-1[.][0-9]*\\)\\{0,1\\} //p' "$STATE/installed" | head -1)
[ -n "$version" ] && echo "cargo ${version%%[+-]*} (abc 2025-01-01)"
""",
    "sudo": 'exec "$@"\n',
}


class ToolsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


class SetupTest(ToolsTest):
    def set_up(self, offered, installed=(), mentioned=(), words=()):
        """Runs setup.sh on a distribution that offers these packages; (result, what it installed)."""
        for name, text in FAKES.items():
            self.program(self.root / "bin" / name, "#!/bin/bash\n" + text)
        for name, lines in (("offered", offered), ("installed", installed), ("mentioned", mentioned)):
            (self.root / name).write_text("".join(line + "\n" for line in lines))
        environment = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.root), "STATE": str(self.root)}
        result = subprocess.run(["bash", str(TOOLS / "setup.sh"), *words], env=environment,
                                capture_output=True, text=True, timeout=60)
        log = self.root / "apt-get.log"
        words = log.read_text().split(" install ")[-1].split() if log.exists() else []
        return result, [word for word in words if not word.startswith("-")]

    @staticmethod
    def offer(*more):
        return [f"{name} 1.0" for name in PROGRAM + SUITES] + list(more)

    def test_takes_the_boost_and_rust_that_the_distribution_has(self):
        distributions = {
            "Debian 12": (["libboost1.74-dev 1.74.0", "libboost-json1.74-dev 1.74.0", "libboost1.81-dev 1.81.0-5",
                           "libboost-json1.81-dev 1.81.0-5", "clang-format-19 19.1", "cargo 0.66.0+ds1-1",
                           "cargo-web 1.90.0+dfsg3-1~deb12u3", "rustc-web 1.90.0"],
                          [], {"libboost1.81-dev", "libboost-json1.81-dev", "cargo-web", "rustc-web"}),
            "Debian 13": (["libboost1.83-dev 1.83.0-4", "libboost-json1.83-dev 1.83.0-4", "libboost1.88-dev 1.88.0",
                           "libboost-json1.88-dev 1.88.0", "clang-format-19 19.1", "cargo 1.90.0+dfsg3-1",
                           "rustc 1.90.0+dfsg3-1"],
                          ["libboost1.81-dev", "cargo-web"],
                          {"libboost1.83-dev", "libboost-json1.83-dev", "cargo", "rustc"}),
            "Ubuntu 24.04": (["libboost1.83-dev 1.83.0-2", "libboost-json1.83-dev 1.83.0-2", "cargo 1.75.0+dfsg0ubuntu1",
                              "cargo-1.97 1.97.0", "rustc-1.97 1.97.0", "cargo-1.100 1.100.0", "rustc-1.100 1.100.0",
                              "cargo-1.84 1.84.0", "rustc-1.84 1.84.0", "cargo-1.97-doc 1.97.0"],
                             [], {"libboost1.83-dev", "libboost-json1.83-dev", "cargo-1.97", "rustc-1.97"}),
        }
        for name, (offered, mentioned, chosen) in distributions.items():
            with self.subTest(name):
                (self.root / "apt-get.log").unlink(missing_ok=True)
                result, installed = self.set_up(self.offer(*offered), mentioned=mentioned)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(set(installed), set(PROGRAM) | chosen)

    def test_a_rust_that_is_too_old_gives_way_to_rustup(self):
        def found(in_path, rustup):
            self.program(self.root / "bin/cargo", f"#!/bin/bash\necho 'cargo {in_path} (abc 2024-01-01)'")
            self.program(self.root / ".cargo/bin/cargo", f"#!/bin/bash\necho 'cargo {rustup} (abc 2025-01-01)'")
            result = subprocess.run([str(TOOLS / "find_rust.sh")], capture_output=True, text=True, timeout=60,
                                    env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.root)})
            return result.stdout.strip().removeprefix(f"{self.root}/")
        self.assertEqual(found("1.75.0", "1.90.0"), ".cargo/bin")
        self.assertEqual(found("1.85.0", "1.90.0"), "bin")
        self.assertNotIn(found("1.75.0", "1.84.1"), (".cargo/bin", "bin"))

    def test_what_only_tests_need_is_for_tests(self):
        offered = self.offer("libboost1.83-dev 1.83.0", "libboost-json1.83-dev 1.83.0", "cargo 1.90.0", "rustc 1.90.0",
                             *(f"{name} 1.0" for name in TESTS))
        program = set(self.set_up(offered)[1])
        (self.root / "apt-get.log").unlink()
        suites = set(self.set_up(offered, words=["--suites"])[1])
        (self.root / "apt-get.log").unlink()
        tests = set(self.set_up(offered, words=["--tests"])[1])
        self.assertEqual(suites - program, set(SUITES))
        self.assertEqual(tests - suites, set(TESTS))
        self.assertFalse(program - suites or suites - tests)

    def test_a_boost_without_its_json_library_will_not_do(self):
        result, installed = self.set_up(self.offer(
            "libboost1.81-dev 1.81.0", "libboost1.83-dev 1.83.0", "libboost-json1.83-dev 1.83.0", "cargo 1.90.0",
            "rustc 1.90.0", "clang-format-19 19.1"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("libboost1.83-dev", installed)
        self.assertNotIn("libboost1.81-dev", installed)

    def test_names_in_one_sentence_what_the_distribution_lacks(self):
        offered = [package for package in self.offer("libboost1.74-dev 1.74.0", "libboost-json1.74-dev 1.74.0")
                   if not package.startswith("prometheus")]
        result, _ = self.set_up(offered, mentioned=["libboost1.81-dev", "libboost-json1.81-dev"])
        self.assertEqual(result.returncode, 1)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        for word in ("prometheus-cpp-dev", "Boost 1.81 or newer", "Rust 1.85 or newer", "by hand"):
            self.assertIn(word, lines[0])
        self.assertNotIn("install -y", (self.root / "apt-get.log").read_text())

    def test_goes_on_without_what_only_formatting_needs(self):
        result, installed = self.set_up(self.offer("libboost1.83-dev 1.83.0", "libboost-json1.83-dev 1.83.0",
                                                   "cargo 1.90.0", "rustc 1.90.0"), words=["--tests"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("without clang-format-19", result.stdout)
        self.assertIn("cmake", installed)

    def test_takes_a_browser_and_a_cross_compiler_for_the_tests_only_and_where_there_are_some(self):
        everything = self.offer("libboost1.83-dev 1.83.0", "libboost-json1.83-dev 1.83.0", "cargo 1.90.0",
                                "clang-format-19 19.1")
        names = {"chromium", "chromium-driver", "g++-aarch64-linux-gnu", "qemu-user-static"}
        tests_only = [f"{name} 12.2" for name in sorted(names)]
        self.assertEqual(self.set_up(tests_only, installed=everything)[1], [])
        result, installed = self.set_up(tests_only, installed=everything, words=["--tests"])
        self.assertEqual((result.returncode, set(installed)), (0, names))
        (self.root / "apt-get.log").unlink()
        result, installed = self.set_up([], installed=everything, words=["--tests"])
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("chromium", installed)
        self.assertIn("without chromium,", result.stdout)

    def test_says_and_does_nothing_when_everything_is_there(self):
        everything = self.offer("libboost1.83-dev 1.83.0", "libboost-json1.83-dev 1.83.0", "cargo 1.90.0",
                                "clang-format-19 19.1")
        for words in ([], ["--suites"]):
            result, installed = self.set_up([], installed=everything, words=words)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            self.assertEqual(installed, [])


# Plays `foretoken serve`: answers as long as requests carry the key, writes down the question, and ends.
FAKE_SERVER = """#!/usr/bin/env python3
import http.server, json, socket, sys

flags = dict(zip(sys.argv[2::2], sys.argv[3::2])) if "=" not in sys.argv[2] else dict(
    word.split("=", 1) for word in sys.argv[2:])
key = flags.get("--api-key")


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, text):
        allowed = key is None or self.headers["Authorization"] == "Bearer " + key
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(text if allowed else b"no")
        return allowed

    def do_GET(self):
        self.answer(b"{}")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.is_asked = self.answer(b'"Paris"')

    def log_message(self, *_):
        pass


host = flags.get("--host", "127.0.0.1")


class Server(http.server.HTTPServer):
    address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_asked = False


server = Server((host, int(flags["--port"])), Handler)
while not server.is_asked:
    server.handle_request()
"""


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


class ServeDemoTest(ToolsTest):
    def ask(self, *flags):
        """What serve_demo.sh prints; the server in its temporary tree is a fake."""
        self.program(self.root / "tools/build.sh", '#!/bin/sh\necho "kernels: $FORETOKEN_ISAS"\n')
        self.program(self.root / "build/release/foretoken", FAKE_SERVER)
        shutil.copy(TOOLS / "serve_demo.sh", self.root / "tools/serve_demo.sh")
        result = subprocess.run([str(self.root / "tools/serve_demo.sh"), *flags], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def port(self, host="127.0.0.1"):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, 0))
            return str(probe.getsockname()[1])

    def test_the_first_question_carries_the_key_and_does_not_print_it(self):
        port = self.port()
        for flags in (("--port", port, "--api-key", "geheim"), ("--api-key=geheim", f"--port={port}")):
            with self.subTest(flags):
                shown = self.ask(*flags)
                self.assertIn('"Paris"', shown)
                self.assertNotIn("geheim", shown)

    def test_a_first_build_has_the_kernels_of_this_machine_and_a_later_one_those_that_were_chosen(self):
        cache = self.root / "build/release/CMakeCache.txt"
        for text, chosen in ((None, "native"), ("FORETOKEN_ISAS:STRING=native\n", "native"),
                             ("FORETOKEN_ISAS:STRING=all\n", "all"), ("OTHER:BOOL=ON\n", "all")):
            with self.subTest(text):
                if text:
                    cache.write_text(text)
                self.assertIn(f"kernels: {chosen}\n", self.ask("--port", self.port()))

    def test_without_a_key_none_is_sent(self):
        shown = self.ask("--port", self.port())
        self.assertIn('"Paris"', shown)
        self.assertNotIn("Authorization", shown)

    def test_asks_where_the_server_listens(self):
        hosts = {"0.0.0.0": "http://127.0.0.1:", "localhost": "http://localhost:", "127.0.0.2": "http://127.0.0.2:"}
        if has_ipv6():
            hosts.update({"::": "http://[::1]:", "::1": "http://[::1]:"})
        for host, url in hosts.items():
            with self.subTest(host):
                shown = self.ask("--host", host, "--port", self.port(host if ":" in host else "127.0.0.1"))
                self.assertIn(url, shown)
                self.assertIn('"Paris"', shown)


if __name__ == "__main__":
    unittest.main()
