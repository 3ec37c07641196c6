"""The parts of tools/train_head that need nothing but Python.

    parts_test.py
"""
import ast
import gzip
import json
import lzma
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

from fake_server import FakeServer

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/train_head"
sys.path.insert(0, str(TOOL))

from recipe import functions
from recipe.answers import HELD_OUT, Limits, collect, temperature_of
from recipe.faults import Fault
from recipe.invented import invent
from recipe.prompts import read_prompts
from recipe.server import Server
from recipe.validation import Tally, report


def silent(*_, **__):
    pass


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, text, name="prompts.jsonl"):
        path = self.folder / name
        path.write_text(text)
        return path


class Prompts(Case):
    def test_every_form_of_a_line_is_read(self):
        prompts = read_prompts(self.file("\n".join([
            '{"turns": ["one", "two"], "category": "x"}',
            '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}',
            '{"task_id": "a", "prompt": "def f():"}', '{"question": "why?"}', '{"instruction": "do"}', '{"text": "Once upon"}', "",
            "a text"])))
        last = [p.messages[-1]["content"] if p.messages else None for p in prompts]
        self.assertEqual(last, ["one", "u", "def f():", "why?", "do", None, "a text"])
        self.assertEqual(prompts[0].later_turns, ["two"])
        self.assertEqual(prompts[1].messages[0]["role"], "system")
        self.assertEqual(prompts[5].text, "Once upon")

    def test_packed_files_and_texts(self):
        for name, opener in (("a.jsonl.gz", gzip.open), ("a.jsonl.xz", lzma.open)):
            with opener(self.folder / name, "wt") as out:
                out.write('{"prompt": "packed"}\n')
            self.assertEqual(read_prompts(self.folder / name)[0].messages[0]["content"], "packed")
        self.assertEqual(read_prompts(self.file("{x} is a set\n", "a.txt"))[0].messages[0]["content"], "{x} is a set")

    def test_faults_name_file_and_line(self):
        for text in ('{"prompt": "a"}\n{"prompt": ', '{"prompt": "a"}\n{"other": 1}', '{"prompt": "a"}\n{"turns": []}'):
            with self.assertRaisesRegex(Fault, "prompts.jsonl, line 2"):
                read_prompts(self.file(text))
        with self.assertRaisesRegex(Fault, "no prompts in"):
            read_prompts(self.file("\n\n"))
        with self.assertRaisesRegex(Fault, "cannot read prompts"):
            read_prompts(self.folder / "missing.jsonl")
        self.file("no gzip", "a.gz")
        with self.assertRaisesRegex(Fault, "cannot read prompts"):
            read_prompts(self.folder / "a.gz")


class Answers(Case):
    def setUp(self):
        super().setUp()
        self.fake = self.enterContext(FakeServer())
        self.server, self.out = Server(self.fake.url), self.folder / "answers.jsonl"
        self.prompts = read_prompts(self.file("".join(json.dumps({"turns": [f"prompt {i}"]}) + "\n" for i in range(30))))

    def collect(self, **limits):
        return collect(self.server, self.prompts, self.out, Limits(at_once=8, **limits), say=silent)

    def lines(self):
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def test_every_prompt_is_answered_once(self):
        self.assertEqual(self.collect(), 90)
        self.assertEqual(sorted(line["prompt_number"] for line in self.lines()), list(range(30)))
        for line in self.lines():
            self.assertEqual("".join(map(chr, line["prompt"])), f"<user>prompt {line['prompt_number']}<assistant>")
            self.assertEqual(line["answer"], [1000 + len(line["prompt"]), 2000 + line["prompt_number"], 2])
            self.assertEqual(line["temperature"], temperature_of(line["prompt_number"]))

    def test_it_goes_on_where_it_was(self):
        self.collect()
        whole = self.out.read_text().splitlines(keepends=True)
        self.out.write_text("".join(whole[:10]) + whole[10][:20])  # ended in the middle of a line
        self.fake.generated.clear()
        self.collect()
        self.assertEqual(len(self.fake.generated), 20)
        self.assertEqual(sorted(self.out.read_text().splitlines(keepends=True)), sorted(whole))

    def test_later_turns_follow_the_answer(self):
        self.prompts = read_prompts(self.file('{"turns": ["a", "b"]}\n'))
        self.collect()
        first, second = self.lines()
        self.assertEqual("".join(map(chr, second["prompt"])), "<user>a<assistant> word 0 of some answer<user>b<assistant>")
        self.assertEqual(first["prompt_number"], second["prompt_number"])

    def test_texts_are_asked_without_the_template(self):
        self.prompts = read_prompts(self.file('{"text": "Once"}\n'))
        self.collect()
        self.assertEqual("".join(map(chr, self.lines()[0]["prompt"])), "Once")

    def test_long_prompts_are_left_out_and_not_asked_again(self):
        self.prompts = read_prompts(self.file("x" * 100 + "\nshort\n"))
        self.assertEqual(self.collect(max_prompt_tokens=50), 3)
        self.fake.generated.clear()
        self.collect(max_prompt_tokens=50)
        self.assertEqual(self.fake.generated, [])
        self.prompts, self.out = self.prompts[:1], self.folder / "others.jsonl"
        with self.assertRaisesRegex(Fault, "no prompt was answered"):
            self.collect(max_prompt_tokens=50)

    def test_held_out_prompts_are_greedy_and_most_others_sampled(self):
        temperatures = [temperature_of(n) for n in range(1, 1000)]
        self.assertTrue(all(temperature_of(n) == 0 for n in range(0, 1000, HELD_OUT)))
        self.assertGreater(sum(t > 0 for t in temperatures), 500)
        self.assertGreater(sum(t == 0 for t in temperatures), 300)
        self.assertLessEqual(max(temperatures), 1)

    def test_a_refusal_is_one_line(self):
        self.fake.fault = (400, "too long")
        with self.assertRaisesRegex(Fault, "answers 400: too long"):
            self.collect()
        with self.assertRaisesRegex(Fault, "does not answer"):
            Server("http://127.0.0.1:9").text_tokens("a")


class Invented(Case):
    def test_prompts_follow_the_template_up_to_the_user(self):
        with FakeServer() as fake:
            path = self.folder / "invented.jsonl"
            invent(Server(fake.url), 20, path, at_once=4, say=silent)
            asked = ["".join(map(chr, body["input_ids"])) for body in fake.generated]
            self.assertTrue(all(text.startswith("<user>") for text in asked))
            self.assertIn("<user>What", asked)
            self.assertEqual(len(read_prompts(path)), 20)
            count = len(asked)
            invent(Server(fake.url), 20, path, at_once=4, say=silent)
            self.assertEqual(len(fake.generated), count)  # nothing was missing

    def test_what_was_cut_off_is_no_prompt(self):
        with FakeServer() as fake:
            fake.finish = "length"
            with self.assertRaisesRegex(Fault, "invents no prompts"):
                invent(Server(fake.url), 5, self.folder / "invented.jsonl", say=silent)


class Functions(unittest.TestCase):
    def test_functions_are_python_and_their_examples_are_distinct(self):
        rng, sources = random.Random(3), set()
        for _ in range(400):
            text = functions.source(rng)
            parsed = ast.parse(text)
            function = parsed.body[-1]
            self.assertIsInstance(function, ast.FunctionDef)
            self.assertIn(function.name + "(", ast.get_docstring(function))
            sources.add(text)
        self.assertGreater(len(sources), 390)

    def test_examples_are_true(self):
        """Of one kind, checked with an implementation that is written here."""
        rng, seen = random.Random(5), 0
        for _ in range(4000):
            text = functions.source(rng)
            if re.search(r"def sum_even\(", text):
                for values, result in re.findall(r"sum_even\((\[.*?\])\)\s*(?:==|➞|should return)?\s*(-?\d+)", text):
                    self.assertEqual(sum(x for x in ast.literal_eval(values) if x % 2 == 0), int(result))
                    seen += 1
        self.assertGreater(seen, 3)


class Validation(unittest.TestCase):
    def answer(self, tokens, steps=0, length=0.0):
        return {"text": "x", "meta_info": {"completion_tokens": tokens, "spec_verify_ct": steps, "spec_accept_length": length}}

    def test_accept_lengths_weigh_by_steps(self):
        tally = Tally()
        tally.add(self.answer(40, 10, 4.0))
        tally.add(self.answer(60, 30, 2.0))
        tally.add(self.answer(1))
        self.assertAlmostEqual(tally.accept_length, 2.5)

    def test_the_report_compares_speeds(self):
        plain, full, auto = Tally(tokens=100, seconds=2.0), Tally(tokens=100, seconds=1.0), Tally(tokens=100, seconds=0.5)
        figures = report("p", Tally(texts=["x"], drafted=5, steps=2), (plain, full, auto))
        self.assertEqual((figures["accept_length"], figures["speedup"], figures["auto_speedup"]), (2.5, 2.0, 4.0))


class CommandLine(Case):
    def fault(self, *words, **environment):
        result = subprocess.run([sys.executable, str(TOOL / "train_head.py"), *words], capture_output=True, text=True,
                                env={**os.environ, **environment})
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("train_head: "))
        return lines[0]

    def test_faults_are_one_line(self):
        common = ("--target", "model", "--work", str(self.folder / "work"))
        self.assertIn("needs --prompts", self.fault("answers", *common))
        self.assertIn("no prompts in", self.fault("answers", *common, "--prompts", str(self.file(""))))
        self.assertIn("cannot start /no/such", self.fault("answers", *common, "--prompts", str(self.file("a")), "--foretoken", "/no/such"))
        self.assertIn("ended at its start", self.fault("answers", *common, "--prompts", str(self.file("a")), "--foretoken", "false"))
        self.assertIn("needs --out", self.fault("validate", *common))

    def test_missing_packages_are_named(self):
        (self.folder / "torch.py").write_text("raise ImportError('none here')\n")
        line = self.fault("taps", "--target", "model", "--work", str(self.folder / "work"), PYTHONPATH=str(self.folder))
        self.assertIn("needs the Python package torch: pip install torch", line)


if __name__ == "__main__":
    unittest.main()
