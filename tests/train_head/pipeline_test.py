"""The whole way of tools/train_head on the demo model: answers, taps, a short training, the head served.

    pipeline_test.py PROGRAM MODELS        Exit code 77: torch or transformers are not there.
"""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MODELS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
del sys.argv[1:3]
PACKAGES = ("torch", "transformers", "safetensors", "numpy", "tokenizers")
if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
    print("skipped: no Python package", ", ".join(missing))
    sys.exit(77)

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/train_head"))

TARGET, TRAINED_HEAD = MODELS / "demo", MODELS / "demo-eagle3"
PROMPTS = [json.loads(line)["turns"][0] for line in open(ROOT / "bench/prompts/demo.jsonl")]
MAX_NEW_TOKENS = 40


def run(*words):
    command = [sys.executable, str(ROOT / "tools/train_head/train_head.py"), *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if result.returncode:
        raise AssertionError(result.stdout + result.stderr)
    return result.stdout


class Pipeline(unittest.TestCase):
    """One run for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.work, cls.head = cls.folder / "work", cls.folder / "head"
        prompts, validation = cls.folder / "prompts.jsonl", cls.folder / "validation.jsonl"
        # Prompt 0 and prompt 50 are held out.
        prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS[:52]))
        validation.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS[60:63]))
        cls.common = ("--target", TARGET, "--work", cls.work, "--foretoken", PROGRAM, "--max-new-tokens", MAX_NEW_TOKENS)
        cls.words = ("all", *cls.common, "--prompts", prompts, "--out", cls.head, "--minutes", 0.15, "--draft-vocab", 512,
                     "--step-tokens", 512, "--micro-tokens", 512, "--workers", 2, "--validate", validation, "--speed", 3)
        cls.output = run(*cls.words)

    def test_the_head_has_the_published_layout(self):
        from safetensors.torch import load_file
        config, tensors = json.loads((self.head / "config.json").read_text()), load_file(self.head / "model.safetensors")
        usual = load_file(TRAINED_HEAD / "model.safetensors")
        self.assertEqual(config["architectures"], ["LlamaForCausalLMEagle3"])
        self.assertEqual((config["draft_vocab_size"], config["vocab_size"], config["num_hidden_layers"]), (512, 8192, 1))
        self.assertEqual(config["eagle_config"]["eagle_aux_hidden_state_layer_ids"], [1, 4, 6])
        self.assertEqual(set(tensors), set(usual))
        for name, tensor in tensors.items():
            self.assertEqual(tensor.dtype, usual[name].dtype, name)
            if name not in ("d2t", "lm_head.weight"):
                self.assertEqual(tensor.shape, usual[name].shape, name)
        ids = tensors["d2t"] + range_of(512)
        self.assertEqual(tensors["t2d"].nonzero().flatten().tolist(), ids.tolist())
        self.assertIn(json.loads((TARGET / "config.json").read_text())["eos_token_id"], ids.tolist())

    def test_the_server_drafts_with_it_and_says_the_same(self):
        """The step validate has compared the texts with plain ones."""
        figures, = map(json.loads, (self.work / "validation.jsonl").read_text().splitlines()[:1])
        self.assertEqual(figures["answers"], 3)
        self.assertGreaterEqual(figures["accept_length"], 1)
        for name in ("plain", "drafted", "auto"):
            self.assertGreater(figures[f"{name}_tokens_per_second"], 0)

    def test_the_same_command_again_finds_everything_done(self):
        kept = {path: path.stat().st_mtime_ns for path in [self.work / "answers.jsonl", *sorted((self.work / "taps").iterdir())]}
        steps = self.steps_trained()
        run(*(word if word != "all" else "answers" for word in self.words))
        run(*(word if word != "all" else "taps" for word in self.words))
        run(*(word if word != "all" else "train" for word in self.words))
        answers = kept.pop(self.work / "answers.jsonl")
        self.assertEqual({path: path.stat().st_mtime_ns for path in sorted((self.work / "taps").iterdir())}, kept)
        self.assertTrue(answers)
        self.assertEqual(self.steps_trained(), steps)  # the minutes are used up

    def steps_trained(self):
        import torch
        return torch.load(self.work / "state.pt")["clock"][2].item()

    def test_taps_are_the_outputs_of_the_layers_that_the_server_reads(self):
        """A head that was trained elsewhere guesses well on these taps, and badly on those of other layers."""
        import torch
        from safetensors.torch import load_file
        from recipe.target import Base
        from recipe.taps import plan
        from recipe.training import HeadTask, make_head
        base = Base.read(self.work, "cpu", 640)
        saved = load_file(TRAINED_HEAD / "model.safetensors")
        head = make_head(base, (saved["d2t"] + range_of(len(saved["d2t"]))).tolist())
        head.load_state_dict({name: tensor.float() for name, tensor in saved.items() if name not in ("d2t", "t2d")})
        micros = [micro for part in plan(self.work / "answers.jsonl", self.work / "taps", 640, 512) for micro in part][:4]
        usual = HeadTask(head, base, micros, micros, 1).accept_length(4)
        self.assertGreater(usual, 2.4)
        with torch.no_grad():
            head.fc.weight.copy_(head.fc.weight.roll(base.config.hidden_size, 1))  # each tap in the place of another
        self.assertLess(HeadTask(head, base, micros, micros, 1).accept_length(4), usual - 0.3)

    def test_aims_are_the_targets_choices(self):
        """Half its first choice, half its distribution, as far as the draft vocabulary has them."""
        from recipe.taps import plan
        from recipe.target import Base
        from recipe.training import HeadTask, make_head
        base, ids = Base.read(self.work, "cpu", 640), json.loads((self.work / "vocabulary.json").read_text())
        micro = plan(self.work / "answers.jsonl", self.work / "taps", 640, 512)[0][0]
        lesson, task = micro.read("cpu"), HeadTask(make_head(base, ids), base, [micro], [micro], 1)
        choices, chances = lesson.teacher
        aims = task.aims(lesson)
        self.assertEqual(aims.shape, (int(lesson.answered.sum()), len(ids)))
        for row in range(len(aims)):
            pairs = enumerate(zip(choices[row].tolist(), chances[row].tolist()))
            expected = {choice: 0.5 * chance + 0.5 * (i == 0) for i, (choice, chance) in pairs if choice in ids}
            found = {ids[i]: float(aims[row, i]) for i in aims[row].nonzero().flatten().tolist()}
            for token, aim in expected.items():
                self.assertAlmostEqual(found.get(token, 0.0), aim, places=3)
            self.assertLessEqual(len(found), len(expected))

    def test_training_learns(self):
        """A number of steps instead of minutes, so that a busy machine changes nothing."""
        import torch
        from recipe.taps import plan
        from recipe.target import Base
        from recipe.training import HeadTask, make_head, parallel
        torch.manual_seed(1)
        base, ids = Base.read(self.work, "cpu", 640), json.loads((self.work / "vocabulary.json").read_text())
        micro = plan(self.work / "answers.jsonl", self.work / "taps", 640, 512)[0][0]
        head = make_head(base, ids)
        task = HeadTask(head, base, [micro], [micro], 1)
        params = {name: p for name, p in head.named_parameters()}
        optimizer = parallel.Optimizer({n: p.data for n, p in params.items()}, parallel.optimizer_state(params), list(params),
                                       parallel.Settings(self.work / "none.pt", 1, muon_rate=0.02, adam_rate=0.001))
        losses = []
        for step in range(12):
            loss = task.loss(step, 0, 1.0)
            head.zero_grad()
            loss.backward()
            optimizer.step({n: p.grad for n, p in params.items()}, 1.0, step + 1)
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.6 * losses[0])


class OtherFamily(unittest.TestCase):
    """A Qwen 3 of random weights, with an output matrix and a head size of its own: the head is a Llama layer all the same."""

    def test_a_head_for_it_is_served(self):
        import torch
        import transformers
        torch.manual_seed(4)
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        model, work, head, prompts = (folder / name for name in ("model", "work", "head", "prompts.txt"))
        ids = {f"{name}_token_id": json.loads((TARGET / "config.json").read_text())[f"{name}_token_id"] for name in ("bos", "eos", "pad")}
        config = transformers.Qwen3Config(vocab_size=8192, hidden_size=64, intermediate_size=96, num_hidden_layers=8, num_attention_heads=4,
                                          num_key_value_heads=2, head_dim=32, tie_word_embeddings=False, max_position_embeddings=512,
                                          rms_norm_eps=1e-6, rope_theta=50000.0, **ids)
        transformers.Qwen3ForCausalLM(config).bfloat16().save_pretrained(model)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(TARGET / name, model / name)
        prompts.write_text("".join(text.replace("\n", " ") + "\n" for text in PROMPTS[:8]))
        run("all", "--target", model, "--prompts", prompts, "--work", work, "--out", head, "--foretoken", PROGRAM, "--max-new-tokens", 16,
            "--minutes", 0.05, "--draft-vocab", 256, "--workers", 1, "--validate", prompts, "--every", 4, "--speed", 2)
        written = json.loads((head / "config.json").read_text())
        expected = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 64, "head_dim": 32,
                    "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "rope_theta": 50000.0, "tie_word_embeddings": False}
        self.assertEqual({key: written[key] for key in expected}, expected)


def range_of(count):
    import torch
    return torch.arange(count)


if __name__ == "__main__":
    unittest.main()
