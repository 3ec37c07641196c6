#!/usr/bin/env python3
"""`foretoken tune` as a user runs it, on the demo model: records, replays, refuses, is interrupted.

Usage: tune_test.py PATH_OF_PROGRAM PATH_OF_SOURCES.
"""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCES = pathlib.Path(sys.argv.pop(2))
PROGRAM = sys.argv.pop(1)
DEMO = SOURCES / "models/demo"
HEAD = ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", str(SOURCES / "models/demo-eagle3")]
PROMPTS = str(SOURCES / "bench/prompts/demo.jsonl")


def run(*args):
    return subprocess.run([PROGRAM, "tune", *args], capture_output=True, text=True, timeout=300)


class TuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name, "all")
        cls.whole = run("--model", str(DEMO), *HEAD, "--prompts", PROMPTS, "--limit", "4", "--batch-sizes", "1,2",
                        "--measure-seconds", "0.2", "--record-steps", "3", "--record-topk", "2", "--turns", "2",
                        "--max-new-tokens", "16", "--validate", "3", "--rounds", "3", "--threads", "1",
                        "--out", str(cls.out))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return str(pathlib.Path(self.folder.name, name))

    def test_a_whole_run_leaves_a_report(self):
        self.assertEqual(self.whole.returncode, 0, self.whole.stderr)
        self.assertIn("2 at once", self.whole.stdout)
        self.assertIn("best: ", self.whole.stdout)
        self.assertIn("Run for real", self.whole.stdout)
        self.assertIn("Recording", self.whole.stderr)
        report = json.loads((self.out / "report.json").read_text())
        self.assertEqual(report["texts"], 8)
        self.assertEqual([check["batch_size"] for check in report["checks"]], [1, 1, 2])
        # Greedy answers are the same with every setting, and all of them are replayed.
        self.assertEqual({result["tokens"] for setting in report["settings"] for result in setting["results"]},
                         {report["tokens"]})
        self.assertTrue([s["name"] for s in report["settings"] if s["name"].startswith("EAGLE3+")])
        for setting in report["settings"]:
            self.assertEqual(len(setting["results"]), 2)
            self.assertEqual(setting["results"][0]["unanswered"], 0, setting["name"])
        for check in report["checks"]:
            if "auto" not in check["setting"]:
                self.assertAlmostEqual(check["predicted_accept_length"], check["accept_length"], places=9)
        self.assertIn("</html>", (self.out / "report.html").read_text())
        json.loads((self.out / "costs.json").read_text())

    def test_a_record_is_replayed_without_the_model(self):
        out = self.path("again")
        again = run("--replay", str(self.out / "record.bin"), "--batch-sizes", "1,2", "--out", out)
        self.assertEqual(again.returncode, 0, again.stderr)
        old = json.loads((self.out / "report.json").read_text())["settings"]
        new = {s["name"]: s for s in json.loads(pathlib.Path(out, "report.json").read_text())["settings"]}
        # Whether a head is worth its flags is up to the machine; the record knows where it lies in any case.
        heads = [s["flags"] for s in new.values() if s["name"].startswith("EAGLE3")]
        self.assertTrue(heads)
        for flags in heads:
            self.assertIn("--speculative-draft-model-path", flags)
        for setting in old:
            if "auto" in setting["name"]:
                continue
            for before, after in zip(setting["results"], new[setting["name"]]["results"]):
                self.assertEqual(before["accept_length"], after["accept_length"], setting["name"])
                self.assertAlmostEqual(before.get("speedup", 0), after.get("speedup", 0), places=6)

    def test_costs_come_from_elsewhere(self):
        costs = self.path("costs.json")
        data = json.loads((self.out / "costs.json").read_text())
        data["machine"] = "elsewhere"
        pathlib.Path(costs).write_text(json.dumps(data))
        out = self.path("elsewhere")
        done = run("--replay", str(self.out / "record.bin"), "--costs", costs, "--batch-sizes", "1", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("elsewhere", pathlib.Path(out, "report.html").read_text())
        pathlib.Path(costs).write_text("{}")
        broken = run("--replay", str(self.out / "record.bin"), "--costs", costs, "--out", out)
        self.assertEqual(broken.returncode, 1)
        self.assertIn("costs that cannot be read", broken.stderr)

    def refusal(self, *args):
        done = run(*args, "--out", self.path("refused"))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def test_records_of_others_are_refused(self):
        record = str(self.out / "record.bin")
        self.assertIn("of another model", self.refusal("--replay", record, "--model", str(SOURCES / "models/demo-mimo")))
        copy = pathlib.Path(self.path("demo"))
        shutil.copytree(DEMO, copy)
        same = run("--replay", record, "--model", str(copy), "--out", self.path("copy"))
        self.assertEqual(same.returncode, 0, same.stderr)
        tokenizer = pathlib.Path(self.path("tokenizer"))
        shutil.copytree(DEMO, tokenizer)
        (tokenizer / "tokenizer.json").write_text((tokenizer / "tokenizer.json").read_text() + "\n")
        self.assertIn("of another tokenizer", self.refusal("--replay", record, "--model", str(DEMO),
                                                           "--tokenizer-path", str(tokenizer)))
        self.assertIn("of another draft model", self.refusal(
            "--replay", record, "--model", str(DEMO), "--speculative-algorithm", "EAGLE3",
            "--speculative-draft-model-path", str(SOURCES / "models/demo-eagle")))
        self.assertIn("no candidates of this algorithm", self.refusal(
            "--replay", record, "--speculative-algorithm", "STANDALONE",
            "--speculative-draft-model-path", str(SOURCES / "models/demo-draft")))

    def test_broken_records_are_refused(self):
        whole = (self.out / "record.bin").read_bytes()
        broken = pathlib.Path(self.path("broken.bin"))
        broken.write_bytes(whole[:16] + b"\x07" + whole[17:])
        self.assertIn("expected version 1, found version 7", self.refusal("--replay", str(broken)))
        broken.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
        self.assertIn("changed or damaged", self.refusal("--replay", str(broken)))
        broken.write_bytes(b"nothing of the kind")
        self.assertIn("not a record", self.refusal("--replay", str(broken)))
        self.assertIn("there is no record", self.refusal("--replay", self.path("none")))
        broken.write_bytes(whole[:len(whole) // 2])
        cut = run("--replay", str(broken), "--out", self.path("cut"))
        self.assertEqual(cut.returncode, 0, cut.stderr)

    def test_wrong_flags_are_refused(self):
        self.assertIn("leave out --simulate-acc-len", self.refusal("--model", str(DEMO), *HEAD, "--simulate-acc-len", "3"))
        self.assertIn("--draft-coupling", self.refusal("--model", str(DEMO), *HEAD, "--draft-coupling", "auto"))
        self.assertIn("--batch-sizes", self.refusal("--batch-sizes", "x"))
        self.assertIn("no prompts", self.refusal("--model", str(DEMO), *HEAD, "--prompts", "/dev/null/x"))

    def test_an_interrupted_recording_keeps_what_is_there(self):
        out = pathlib.Path(self.path("interrupted"))
        process = subprocess.Popen([PROGRAM, "tune", "--model", str(DEMO), *HEAD, "--prompts", PROMPTS, "--threads", "1",
                                    "--max-new-tokens", "16", "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        record = out / "record.bin"
        while process.poll() is None and not (record.exists() and record.stat().st_size > 100000):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("go on with --replay", errors)
        again = run("--replay", str(record), "--out", self.path("kept"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("accept", again.stdout)

    def test_record_only(self):
        out = pathlib.Path(self.path("only"))
        done = run("--model", str(DEMO), "--record-only", "--limit", "2", "--max-new-tokens", "8", "--threads", "1",
                   "--out", str(out))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([p.name for p in out.iterdir()], ["record.bin"])

    def test_no_request_is_refused_however_short_the_queue_of_a_server_is(self):
        done = run("--model", str(DEMO), "--record-only", "--prompts", PROMPTS, "--limit", "40", "--max-new-tokens", "2",
                   "--threads", "1", "--max-queued-requests", "1", "--out", self.path("queue"))
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
