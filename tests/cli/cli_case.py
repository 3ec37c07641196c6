"""What tests of the program share: a made-up config with random weights and no tokenizer, servers of it, one-sentence
errors. The path of the program is the first argument.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from served import served  # noqa: E402

PROGRAM = sys.argv.pop(1)
os.environ["HF_HUB_OFFLINE"] = "1"  # no test asks a hub outside

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "torch_dtype": "bfloat16",
    "eos_token_id": 1,
}


def run(*args, stdin=""):
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, text=True, timeout=120)


class CliCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = cls.folder.name
        pathlib.Path(cls.model, "config.json").write_text(json.dumps(CONFIG))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def serve_flags(self, *more):
        return ["serve", "--model", self.model, "--load-format", "dummy", "--skip-tokenizer-init",
                "--random-seed", "1", "--threads", "2", *more]

    def server(self, *flags, preexec_fn=None, **variables):
        return served(PROGRAM, *self.serve_flags(*flags), env={**os.environ, **variables}, preexec_fn=preexec_fn)

    def generate(self, url, **body):
        body = {"input_ids": [5, 6, 7], "sampling_params": {"max_new_tokens": 8, "temperature": 0,
                                                            "ignore_eos": True}, **body}
        request = urllib.request.Request(url + "/generate", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))

    def assert_one_sentence(self, result, code, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("foretoken: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
