#!/usr/bin/env python3
"""Chats as a user would: in a pseudo-terminal with keys, and through pipes; with servers that fail in every way.

Usage: chat_test.py PATH_OF_PROGRAM FOLDER_OF_MODELS.
"""
import contextlib
import http.server
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = sys.argv.pop(1)
MODELS = pathlib.Path(sys.argv.pop(1))
MODEL_FLAGS = ["--model", str(MODELS / "demo"), "--threads", "2"]
SECONDS = 120
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


def environment(state, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORETOKEN_API_KEY")}
    return {**kept, "HF_HUB_OFFLINE": "1", "TERM": "xterm-256color", "XDG_STATE_HOME": state, **more}


class Terminal:
    """A program in a pseudo-terminal: type() is what a user does, until() what a user waits for."""

    def __init__(self, args, variables):
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, [PROGRAM, *args], variables)
        self.seen = ""   # all output
        self.from_ = 0   # of it, what no until() has used
        self.code = None

    def type(self, text):
        os.write(self.handle, text.encode())

    def read(self, seconds):
        if not select.select([self.handle], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.handle, 65536)
        except OSError:  # how Linux says that the other side is closed
            data = b""
        self.seen += data.decode(errors="replace")
        return bool(data)

    def until(self, pattern):
        """The match of the pattern in what comes next."""
        end = time.monotonic() + SECONDS
        while True:
            found = re.compile(pattern).search(self.seen, self.from_)
            if found:
                self.from_ = found.end()
                return found
            if time.monotonic() > end or not self.read(1) and self.has_ended():
                raise AssertionError(f"{pattern!r} did not come: {self.seen[self.from_:]!r}")

    def has_ended(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def end(self):
        """The exit code, once the program has ended."""
        end = time.monotonic() + SECONDS
        while not self.has_ended() and time.monotonic() < end:
            self.read(0.1)
        return self.code

    def close(self):
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.handle)


def event(**choice):
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": None, **choice}]}).encode() + b"\n\n"


class Scripted(http.server.BaseHTTPRequestHandler):
    """A server whose answers are what the last message says."""
    protocol_version = "HTTP/1.1"
    bodies = []
    go_on = threading.Event()  # what a slow answer waits for

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers.get("Authorization") == "Bearer wrong":
            return self.reply(401, b'{"error": {"message": "Incorrect API key"}}')
        self.reply(200, b'{"data": [{"id": "scripted"}]}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        wish = body["messages"][-1]["content"]
        if wish == "refuse":
            return self.reply(400, b'{"object": "error", "message": "the prompt is too long"}')
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(event(delta={"content": "It begins"}))
        self.wfile.flush()
        if wish == "slow":
            self.go_on.wait(SECONDS)
        if wish == "break":
            self.close_connection = True
            return
        if wish == "fail":
            self.wfile.write(b'data: {"error": {"message": "out of pages"}}\n\n')
        if wish == "command":
            self.wfile.write(event(delta={"content": "\x1b]0;owned\x07"}))
        if wish == "nonsense":
            self.wfile.write(b"data: <html>\n\n")
        self.wfile.write(event(delta={"content": ", it ends."}, finish_reason="stop") + b"data: [DONE]\n\n")
        self.close_connection = True


@contextlib.contextmanager
def scripted_server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    Scripted.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class ChatTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def terminal(self, *args, **variables):
        terminal = Terminal(["chat", *args], environment(self.folder, **variables))
        self.addCleanup(terminal.close)
        return terminal

    def piped(self, *args, stdin="", **variables):
        return subprocess.run([PROGRAM, "chat", *args], input=stdin, capture_output=True, text=True, timeout=SECONDS,
                              env=environment(self.folder, **variables))


class ChatWithAModel(ChatTest):
    def test_lines_of_a_pipe_are_answered_and_nothing_else_is_printed(self):
        result = self.piped(*MODEL_FLAGS, "--set", "temperature=0", "max_tokens=24",
                            stdin="What is the capital of France?\n\n/spec off\n/retry\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        first, second = result.stdout.splitlines()
        self.assertIn("Paris", first)
        self.assertEqual(first, second)  # drafts change no text
        self.assertNotIn("\x1b", result.stdout + result.stderr)
        self.assertIn("Drafts are off.", result.stderr)

    def test_a_chat_in_a_terminal(self):
        chat = self.terminal(*MODEL_FLAGS, "--speculative-algorithm", "SUFFIX", "--draft-budget", "full",
                             "--set", "temperature=0")
        chat.until(r"/help lists commands")
        chat.until("> ")
        chat.type("What is the capital of France?\r")
        chat.until(r"\bParis\b")
        chat.until(r"(\d+) tokens.*tokens/s")
        # The same again has drafts: what was said before.
        chat.type("/new\r")
        chat.until("A new conversation")
        chat.type("What is the capital of France?\r")
        chat.until("\x1b\\[32m[^\x1b]*\\bParis")
        chat.until(r"accept length [1-9]\.\d\d")
        chat.until(r"\x1b\[32mSUFFIX \d+ of \d+")
        chat.type("/set temperature\r")
        chat.until("expected a value")
        chat.type("/set max_tokens 3\rTell me a story.\r")
        chat.until("cut at the limit of tokens")
        chat.until("> ")
        chat.type(CTRL_C)
        chat.until("Ctrl-D or /quit leaves")
        chat.type(CTRL_D)
        self.assertEqual(chat.end(), 0, chat.seen)

    def test_a_model_that_is_missing_is_named(self):
        result = self.piped("--model", "/no/such/folder", stdin="Hi\n")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^foretoken: .*/no/such/folder")


class ChatWithAServer(ChatTest):
    def test_a_server_that_is_away_is_named(self):
        result = self.piped("--url", "http://127.0.0.1:9", stdin="Hi\n")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^foretoken: no server answers at http://127\.0\.0\.1:9: .+\n$")

    def test_wrong_usage_ends_with_2(self):
        for flags, reason in [(["--url", "ftp://host"], "--url"), (["--url", "http://"], "--url"),
                              (["--url", "http://a b"], "--url"), (["--url", "x", "--model", "y"], "exclude each other"),
                              (["--set", "warmth=1"], "'warmth' cannot be set"),
                              (["--url", "x", "--api-key", "two\nlines"], "--api-key")]:
            result = self.piped(*flags)
            self.assertEqual((result.returncode, result.stdout), (2, ""), flags)
            self.assertIn(reason, result.stderr)

    def test_a_wrong_key_is_told(self):
        with scripted_server() as url:
            for result in [self.piped("--url", url, "--api-key", "wrong"), self.piped("--url", url, FORETOKEN_API_KEY="wrong")]:
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr, "foretoken: the server refuses the key (401): give it with --api-key\n")
            self.assertEqual(self.piped("--url", url, "--api-key", "right").returncode, 0)

    def test_faults_of_a_pipe_end_it_with_1(self):
        faults = {"break": "the connection to the server was lost", "fail": "out of pages",
                  "nonsense": "no event of an answer", "refuse": "the server refuses this (400): the prompt is too long",
                  "/sett x": "unknown command '/sett'"}
        with scripted_server() as url:
            for wish, reason in faults.items():
                result = self.piped("--url", url + "/v1/", stdin=f"{wish}\nagain\n")
                self.assertEqual(result.returncode, 1, wish)
                self.assertIn(reason, result.stderr)
                self.assertNotIn("it ends", result.stdout.replace("begins, it ends", "") if wish in ("fail", "nonsense")
                                 else result.stdout)

    def test_faults_in_a_terminal_are_told_and_the_chat_goes_on(self):
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            for wish, reason in {"break": "was lost", "fail": "out of pages", "refuse": "too long"}.items():
                chat.until("> ")
                chat.type(wish + "\r")
                chat.until(reason)
            chat.type("go on\r")
            chat.until("It begins, it ends.")
            chat.type("command\r")
            chat.until("\ufffd]0;owned\ufffd")
            chat.type("/quit\r")
            self.assertEqual(chat.end(), 0)
        self.assertNotIn("\x1b]0;owned", chat.seen)
        # A message that was refused is forgotten, an answer that was cut is not.
        words = [message["content"] for message in Scripted.bodies[-1]["messages"]]
        self.assertNotIn("refuse", words)
        self.assertEqual(words[:2], ["break", "It begins"])

    def test_what_is_no_utf8_is_dropped(self):
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            os.write(chat.handle, b"caf\xe9\r")
            chat.until("is not UTF-8")
            chat.until("> ")
            chat.type("next\r")
            chat.until("it ends")
            chat.type(CTRL_D)
            self.assertEqual(chat.end(), 0)
            result = subprocess.run([PROGRAM, "chat", "--url", url], input=b"a\xff\n", capture_output=True,
                                    env=environment(self.folder))
            self.assertEqual((result.returncode, result.stderr), (1, b"foretoken: what was typed is not UTF-8\n"))
        self.assertEqual(len(Scripted.bodies), 1)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_an_answer_that_cannot_be_written_is_told(self):
        with scripted_server() as url, open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, "chat", "--url", url], input="Hi\n", stdout=full, stderr=subprocess.PIPE,
                                    text=True, env=environment(self.folder))
        self.assertEqual((result.returncode, result.stderr.count("cannot write to standard output")), (1, 1))

    def test_several_lines_are_one_message(self):
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type("first\\\rsecond\x1b\rthird\r")
            chat.until("it ends")
            chat.type('"""\r/help\rin it\\\r"""\r')
            chat.until("it ends")
            chat.type("\x1b[200~pasted\rtwo\x1b[201~\r")
            chat.until("it ends")
            chat.type(CTRL_D)
            self.assertEqual(chat.end(), 0)
            self.assertEqual(self.piped("--url", url, stdin='one\\\ntwo\n"""\na\n\nb\n"""\n').returncode, 0)
        said = [body["messages"][-1]["content"] for body in Scripted.bodies]
        self.assertEqual(said, ["first\nsecond\nthird", "/help\nin it\\", "pasted\ntwo", "one\ntwo", "a\n\nb"])

    def test_ctrl_c_ends_the_answer_and_not_the_program(self):
        Scripted.go_on.clear()
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type("slow\r")
            chat.until("It begins")
            chat.type(CTRL_C)
            chat.until("stopped")
            Scripted.go_on.set()
            chat.type("next\r")
            chat.until("it ends")
            chat.type(CTRL_D)
            self.assertEqual(chat.end(), 0)
        said = [(m["role"], m["content"]) for m in Scripted.bodies[1]["messages"]]
        self.assertEqual(said, [("user", "slow"), ("assistant", "It begins"), ("user", "next")])

    def test_ctrl_c_between_an_answer_and_the_next_line_does_not_end_the_program(self):
        Scripted.go_on.clear()
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type("slow\r")
            chat.until("It begins")
            for _ in range(20):  # some while the answer ends, some before a line is edited, some while it is
                chat.type(CTRL_C)
                chat.read(0.005)
            Scripted.go_on.set()
            end = time.monotonic() + SECONDS
            while not chat.has_ended() and time.monotonic() < end:
                chat.type(CTRL_D)  # Ctrl-C takes what is typed behind it away
                chat.read(0.1)
            self.assertEqual(chat.code, 0, chat.seen)

    def test_what_is_typed_during_an_answer_is_the_next_line(self):
        Scripted.go_on.clear()
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type("slow\r")
            chat.until("It begins")
            chat.type("/set temp\t 0.25\rnext\r" + CTRL_D)
            Scripted.go_on.set()
            chat.until("it ends")
            chat.until("it ends")
            self.assertEqual(chat.end(), 0)
        self.assertEqual([body["messages"][-1]["content"] for body in Scripted.bodies], ["slow", "next"])
        self.assertEqual(Scripted.bodies[1]["temperature"], 0.25)

    def test_history_outlives_the_chat_and_is_nobody_elses(self):
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type("remember me\r")
            chat.until("it ends")
            chat.type("/quit\r")
            self.assertEqual(chat.end(), 0)
            path = pathlib.Path(self.folder, "foretoken", "chat_history")
            self.assertIn("remember me", path.read_text())
            self.assertEqual((path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077), (0, 0))
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type(UP + UP + "\r")  # behind /quit
            chat.until("it ends")
            chat.type(CTRL_D)
            chat.end()
            before = path.read_text()
            chat = self.terminal("--url", url, "--history-file", "")
            chat.until("> ")
            chat.type("forget me\r")
            chat.until("it ends")
            chat.type(CTRL_D)
            chat.end()
            self.assertEqual(path.read_text(), before)
        self.assertEqual(Scripted.bodies[1]["messages"][-1]["content"], "remember me")

    def test_conversations_are_saved_and_loaded(self):
        file = self.folder + "/kept.json"
        with scripted_server() as url:
            first = self.piped("--url", url, "--system", "Be brief.", stdin=f"Hello\n/save {file}\nMore\n/save {file}\n")
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertIn("4 messages were written", first.stderr)
            page = json.loads(pathlib.Path(file).read_text())
            self.assertEqual((page["format"], page["version"]), ("foretoken-conversations", 1))
            second = self.piped("--url", url, stdin=f"/load {file}\nThird\n/set temperature 0.5\n/retry\n/new\nNew\n")
            self.assertEqual(second.returncode, 0, second.stderr)
            over = self.piped("--url", url, stdin=f"/save {file}\n")
            self.assertEqual(over.returncode, 1)
            self.assertIn("is there already", over.stderr)
            for wish, reason in [(f"/load {self.folder}", "not a regular file|cannot be read|regular"),
                                 ("/load /no/file", "no such file"), ("/save /no/folder/file", "cannot be written")]:
                result = self.piped("--url", url, stdin=wish + "\n")
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, reason)
        third, again, new = Scripted.bodies[-3:]
        self.assertEqual([message["content"] for message in third["messages"]],
                         ["Be brief.", "Hello", "It begins, it ends.", "More", "It begins, it ends.", "Third"])
        self.assertEqual(again["messages"], third["messages"])
        self.assertEqual((third.get("temperature"), again["temperature"]), (None, 0.5))
        self.assertEqual([message["role"] for message in new["messages"]], ["system", "user"])

    def test_colours_are_left_out_where_they_are_not_wanted(self):
        with scripted_server() as url:
            chat = self.terminal("--url", url, NO_COLOR="1")
            chat.until("> ")
            chat.type("Hello\r")
            chat.until("it ends")
            chat.type("/nothing\r")
            chat.until("unknown command")
            chat.type(CTRL_D)
            self.assertEqual(chat.end(), 0)
        self.assertNotRegex(chat.seen, "\x1b\\[[0-9;]*[1-9][0-9;]*m")
        self.assertEqual(Scripted.bodies[0]["speculative"], {"trace": False})

    def test_tab_completes_commands(self):
        with scripted_server() as url:
            chat = self.terminal("--url", url)
            chat.until("> ")
            chat.type("/set temp\t 0.25\r/spec of\t\rHello\r")
            chat.until("it ends")
            chat.type(CTRL_D)
            self.assertEqual(chat.end(), 0)
        self.assertEqual(Scripted.bodies[0]["temperature"], 0.25)
        self.assertEqual(Scripted.bodies[0]["speculative"], {"enabled": False})


if __name__ == "__main__":
    unittest.main()
