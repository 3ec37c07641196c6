"""The cache of models that foretoken and the huggingface_hub package share."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from fake_hub import COMMIT, FakeHub

PROGRAM = os.environ.get("FORETOKEN_PROGRAM", "")
FILES = {"config.json": b"{}", "tokenizer.json": b'{"x": 1}', "model.safetensors": random.Random(1).randbytes(300_000),
         "n-Q4_K_M.gguf": b"GGUF" + bytes(5000)}


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "there is no program")
class SharedCacheTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.hub = FakeHub({"o/n": FILES})
        self.addCleanup(self.hub.close)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
        self.environment = {**clean, "HF_HOME": folder.name, "HF_ENDPOINT": self.hub.url, "HF_HUB_DISABLE_XET": "1"}
        self.cache = pathlib.Path(folder.name, "hub")

    def ours(self, *words):
        done = subprocess.run([PROGRAM, *words], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def theirs(self, call, **more):
        """The value of an expression of huggingface_hub, in a process of its own: it reads its variables once."""
        done = subprocess.run([sys.executable, "-c", f"from huggingface_hub import *; print({call})"],
                              env={**self.environment, **more}, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().splitlines()[-1]

    def test_what_we_download_is_complete_for_it(self):
        folder = self.ours("pull", "o/n")
        self.assertEqual(self.theirs("snapshot_download('o/n')", HF_HUB_OFFLINE="1"), folder)
        self.assertEqual(self.theirs("hf_hub_download('o/n', 'model.safetensors')", HF_HUB_OFFLINE="1"),
                         f"{folder}/model.safetensors")
        found = self.theirs("[(r.repo_id, len(r.revisions), r.nb_files, sorted(next(iter(r.revisions)).refs))"
                            " for r in scan_cache_dir().repos], scan_cache_dir().warnings")
        self.assertEqual(found, "[('o/n', 1, 3, ['main'])] []")
        self.hub.requests.clear()
        self.theirs("hf_hub_download('o/n', 'model.safetensors')")
        self.assertEqual(self.hub.downloads("model.safetensors"), 0)

    def test_what_it_downloads_is_complete_for_us(self):
        folder = self.theirs("snapshot_download('o/n')")
        self.assertEqual(pathlib.Path(folder).name, COMMIT)
        self.hub.requests.clear()
        self.assertEqual(self.ours("pull", "o/n"), folder)
        self.assertEqual(self.ours("pull", "o/n:Q4_K_M"), f"{folder}/n-Q4_K_M.gguf")
        self.assertEqual([self.hub.downloads(name) for name in FILES], [0, 0, 0, 0])
        listed = json.loads(self.ours("list", "--json"))
        self.assertEqual([(m["id"], m["refs"], len(m["files"])) for m in listed], [("o/n", ["main"], 4)])


if __name__ == "__main__":
    unittest.main()
