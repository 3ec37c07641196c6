"""foretoken pull, list, rm and --model owner/name against a hub on this machine that misbehaves.

    hub_test.py PROGRAM MODELS
"""

import contextlib
import hashlib
import json
import os
import pathlib
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from fake_hub import COMMIT, FakeHub, git_sum

PROGRAM = sys.argv.pop(1)
MODELS = pathlib.Path(sys.argv.pop(1))

SMALL = {"config.json": b'{"model_type": "llama"}', "tokenizer.json": b'{"x": 1}', "README.md": b"# read me"}


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


LARGE = noise(40 << 20)  # three pieces


class HubCase(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cache = self.home / "hub"

    def hub(self, models, **how):
        return self.enterContext(FakeHub(models, **how))

    def environment(self, hub, **more):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("HF_") and not k.lower().endswith("_proxy")}
        return {**clean, "HF_HOME": str(self.home), "HF_ENDPOINT": hub.url, "HF_HUB_DOWNLOAD_TIMEOUT": "2",
                **more}

    def run_program(self, hub, *words, **more):
        return subprocess.run([PROGRAM, *words], env=self.environment(hub, **more), capture_output=True, text=True,
                              timeout=120)

    def pull(self, hub, *words, **more):
        result = self.run_program(hub, "pull", *words, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return pathlib.Path(result.stdout.strip())

    def refused(self, hub, *words, **more):
        result = self.run_program(hub, *words, **more)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("foretoken: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        return lines[0]

    def files(self, model="models--o--n"):
        snapshots = self.cache / model / "snapshots"
        return sorted(str(p.relative_to(snapshots / COMMIT)) for p in snapshots.rglob("*") if not p.is_dir())

    def assert_nothing_is_half(self, model="models--o--n"):
        self.assertEqual([p.name for p in (self.cache / model / "blobs").iterdir() if "foretoken" in p.name], [])


class ChoiceTest(HubCase):
    def test_only_what_is_needed_is_downloaded_in_the_layout_of_huggingface_hub(self):
        files = {**SMALL, "model.safetensors": noise(200_000), "pytorch_model.bin": b"old",
                 "original/consolidated.00.pth": b"other", "consolidated.safetensors": b"other",
                 "chat_template.jinja": b"{{ x }}", "onnx/model.onnx": b"other", "empty.json": b""}
        for lists in "blobs", "names", "tree":
            with self.subTest(lists), tempfile.TemporaryDirectory() as home:
                self.home = pathlib.Path(home)
                self.cache = self.home / "hub"
                hub = self.hub({"o/n": files}, lists=lists)
                folder = self.pull(hub, "o/n")
                self.assertEqual(folder, self.cache / "models--o--n/snapshots" / COMMIT)
                self.assertEqual(self.files(), ["chat_template.jinja", "config.json", "empty.json",
                                                "model.safetensors", "tokenizer.json"])
                for name in self.files():
                    data = files[name]
                    large = len(data) >= 100_000
                    total = hashlib.sha256(data).hexdigest() if large else git_sum(data)
                    self.assertEqual(os.readlink(folder / name), f"../../blobs/{total}")
                    self.assertEqual((folder / name).read_bytes(), data)
                    self.assertTrue((self.cache / ".locks/models--o--n" / f"{total}.lock").exists())
                self.assertEqual((self.cache / "models--o--n/refs/main").read_text(), COMMIT)
                self.assertTrue((self.cache / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f59"))
                self.assert_nothing_is_half()
                hub.requests.clear()
                self.pull(hub, "o/n")
                self.assertEqual([r for r in hub.requests if r[0] == "GET" and "/resolve/" in r[1]], [])

    def test_a_quantization(self):
        files = {f"n-{quant}.gguf": b"GGUF" + noise(50, seed) for seed, quant in
                 enumerate(["Q8_0", "Q4_K_S", "Q4_K_M", "IQ4_XS"])}
        split = {f"Q6_K/n-Q6_K-{i:05}-of-00002.gguf": b"GGUF" + noise(50, i) for i in (1, 2)}
        hub = self.hub({"o/n": {**SMALL, **files, **split, "mmproj-n-Q8_0.gguf": b"GGUF"}, "o/one": {
            "m-Q5_0.gguf": b"GGUF"}})
        snapshot = self.cache / "models--o--n/snapshots" / COMMIT
        self.assertEqual(self.pull(hub, "o/n"), snapshot / "n-Q4_K_M.gguf")
        self.assertEqual(self.files(), ["n-Q4_K_M.gguf"])
        self.assertEqual(self.pull(hub, "o/n:iq4_xs"), snapshot / "n-IQ4_XS.gguf")
        first = self.pull(hub, "o/n:Q6_K")
        self.assertEqual(first, snapshot / "Q6_K/n-Q6_K-00001-of-00002.gguf")
        self.assertEqual(os.readlink(first).split("blobs/")[0], "../../../")
        self.assertIn("found Q6_K, IQ4_XS, Q4_K_M, Q4_K_S, Q8_0", self.refused(hub, "pull", "o/n:Q2_K"))
        self.assertEqual(self.pull(hub, "o/one").name, "m-Q5_0.gguf")
        self.assertEqual(self.pull(hub, "o/n/n-Q8_0.gguf"), snapshot / "n-Q8_0.gguf")

    def test_revisions(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        self.pull(hub, "o/n", "--revision", "refs/pr/1")
        self.assertEqual((self.cache / "models--o--n/refs/refs/pr/1").read_text(), COMMIT)
        self.pull(hub, "o/n", "--revision", COMMIT)
        self.assertFalse((self.cache / "models--o--n/refs" / COMMIT).exists())
        self.assertIn("RevisionNotFound", self.refused(hub, "pull", "o/n", "--revision", "v2"))
        result = self.run_program(hub, "pull", "o/n", "--revision", "../v2")
        self.assertEqual(result.returncode, 2)

    def test_pages_of_a_list_are_followed_on_the_hub_alone(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}}, lists="tree")
        hub.next_host = ""  # a path
        self.pull(hub, "o/n")
        self.assertEqual(self.files(), ["config.json", "model.safetensors", "tokenizer.json"])
        for elsewhere in hub.other_url, hub.url + "0":
            hub.next_host = elsewhere
            self.assertIn("a tree without an end", self.refused(hub, "pull", "o/n"))

    def test_a_sum_comes_from_the_header_where_the_list_has_none(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}}, lists="names")
        hub.etag = 'W/"{}"'.format
        folder = self.pull(hub, "o/n")
        self.assertEqual(os.readlink(folder / "model.safetensors"), f"../../blobs/{git_sum(b'x')}")
        for bad in '""', '"a/{}"', '".."':
            hub = self.hub({"o/n": {"config.json": b"{}", "model.safetensors": b"y"}}, lists="names")
            hub.etag = bad.format
            self.assertIn("ETag", self.refused(hub, "pull", "o/n"))
        hub.etag = '"{}"'.format
        hub.fault("model.safetensors", "status", status=400)
        self.assertIn("status 400", self.refused(hub, "pull", "o/n"))

    def test_names_from_the_hub_stay_inside_the_cache(self):
        for bad in "../../escaped.json", "/escaped.json", "a//b.json", "a\nb.json":
            hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x", bad: b"{}"}})
            self.assertIn("bad \"rfilename\"", self.refused(hub, "pull", "o/n"))


class FailureTest(HubCase):
    def test_a_download_that_is_cut_ten_times(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": LARGE}})
        hub.fault("model.safetensors", "cut", times=10, after=1 << 20)
        folder = self.pull(hub, "o/n")
        self.assertEqual((folder / "model.safetensors").read_bytes(), LARGE)
        self.assertLess(hub.sent, len(LARGE) + (1 << 20))  # nothing twice
        self.assertEqual(hub.downloads("model.safetensors"), 3 + 10)
        self.assert_nothing_is_half()

    def test_a_process_that_is_killed_is_taken_up(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": LARGE}})
        part = self.cache / "models--o--n/blobs" / (hashlib.sha256(LARGE).hexdigest() + ".foretoken.ranges")

        def killed_on_the_way():
            """Whether it was killed while it wrote down what it had; on a busy machine it may have given up."""
            process = subprocess.Popen([PROGRAM, "pull", "o/n"], env=self.environment(hub), stderr=subprocess.DEVNULL)
            old = part.read_text() if part.exists() else ""
            while process.poll() is None and (not part.exists() or part.read_text() == old):
                time.sleep(0.01)
            process.kill()
            return process.wait() == -signal.SIGKILL

        hub.fault("model.safetensors", "slow", times=None, seconds=0.05)
        kills = tries = 0
        while kills < 3 and tries < 30:
            tries, before = tries + 1, hub.sent
            if killed_on_the_way():
                kills += 1
                self.assertGreater(hub.sent, before)
        self.assertEqual(kills, 3)
        self.assertFalse((self.cache / "models--o--n/refs/main").exists())
        # Another hub, which no killed process has left requests at.
        fresh = self.hub({"o/n": {**SMALL, "model.safetensors": LARGE}})
        folder = self.pull(fresh, "o/n")
        self.assertEqual((folder / "model.safetensors").read_bytes(), LARGE)
        self.assertLess(fresh.sent, len(LARGE) - (8 << 20))  # what was there was not asked for again

    def test_stalls_end_after_the_timeout(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(300_000)}})
        hub.fault("model.safetensors", "stall", times=1, after=1000, seconds=60)
        folder = self.pull(hub, "o/n")
        self.assertEqual((folder / "model.safetensors").read_bytes(), noise(300_000))

    def test_wrong_bytes_are_read_again_and_then_refused(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(300_000)}})
        hub.fault("model.safetensors", "wrong bytes")
        self.pull(hub, "o/n")
        hub = self.hub({"o/m": {**SMALL, "model.safetensors": noise(300_000)}})
        hub.fault("model.safetensors", "wrong bytes", times=None)
        self.assertIn("not those of its list", self.refused(hub, "pull", "o/m"))
        self.assertFalse((self.cache / "models--o--m/snapshots" / COMMIT / "model.safetensors").exists())
        hub.fault("model.safetensors", "wrong bytes", times=0)
        self.pull(hub, "o/m")

    def test_small_files_are_checked_too(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        hub.fault("config.json", "wrong bytes", times=None)
        self.assertIn("config.json", self.refused(hub, "pull", "o/n"))

    def test_a_server_without_ranges(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": LARGE}})
        hub.fault("model.safetensors", "no ranges", times=None)
        folder = self.pull(hub, "o/n")
        self.assertEqual((folder / "model.safetensors").read_bytes(), LARGE)

    def test_a_file_that_is_shorter_than_its_list_says(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(300_000)}})
        hub.fault("model.safetensors", "416", times=None)
        self.assertIn("not as long as its list says", self.refused(hub, "pull", "o/n"))

    def test_the_token_is_sent_to_the_hub_alone(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(300_000)}})
        hub.token = "hf_secret"
        refusal = self.refused(hub, "pull", "o/n")
        self.assertIn("401", refusal)
        self.assertIn("HF_TOKEN", refusal)
        self.assertIn("may read", self.refused(hub, "pull", "o/n", HF_TOKEN="hf_other"))
        self.pull(hub, "o/n", HF_TOKEN="hf_secret")
        self.assertEqual(hub.tokens_elsewhere, [])
        (self.home / "token").write_text("hf_secret\n")
        self.pull(hub, "o/n")

    def test_refusals_say_what_helps(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}, "o/none": {"a.txt": b"x"}})
        self.assertIn("RepoNotFound", self.refused(hub, "pull", "o/other"))
        hub.fault("/revision/main", "status", status=403, code="GatedRepo")
        self.assertIn("accepted its terms", self.refused(hub, "pull", "o/n"))
        self.assertIn("no weights", self.refused(hub, "pull", "o/none"))
        self.assertIn("no such file", self.refused(hub, "pull", "o/n/freq.pt"))
        for words, code in [(["pull"], 2), (["pull", "/a/path"], 2), (["pull", "o/n:a:b"], 2), (["rm"], 2)]:
            self.assertEqual(self.run_program(hub, *words).returncode, code, words)

    def test_a_busy_hub_is_asked_again_when_it_says(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(300_000)}})
        hub.fault("/revision/main", "status", status=429, retry_after=1)
        hub.fault("config.json", "status", times=2, status=503)
        began = time.monotonic()
        self.pull(hub, "o/n")
        self.assertGreaterEqual(time.monotonic() - began, 1)
        hub.fault("/revision/main", "status", times=None, status=429, retry_after=0)
        self.assertIn("failed 8 times (status 429)", self.refused(hub, "pull", "o/n"))

    def test_no_connection_is_told_at_once(self):
        hub = self.hub({"o/n": SMALL})
        hub.close()
        began = time.monotonic()
        self.assertIn(hub.url, self.refused(hub, "pull", "o/n"))
        self.assertLess(time.monotonic() - began, 30)

    def test_answers_that_are_none(self):
        hub = self.hub({"o/n": SMALL})
        for answer in b"<html>", b"[]", b'{"sha": "../x", "siblings": []}', b'{"sha": 1}', b'{"sha": "a/b"}':
            hub._answer_api = lambda request, *_, answer=answer: hub._reply(request, 200, {}, answer)
            self.assertIn("o/n", self.refused(hub, "pull", "o/n"))

    def test_no_room(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        usual = hub._sibling
        hub._sibling = lambda name, data: {**usual(name, data), "size": 1 << 49}
        self.assertIn("no room", self.refused(hub, "pull", "o/n"))

    def test_a_file_that_may_not_grow(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(3 << 20)}})
        limited = subprocess.run(["bash", "-c", f"ulimit -f 1024; exec {PROGRAM} pull o/n"], env=self.environment(hub),
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual(limited.returncode, 1)
        self.assertIn("cannot write the download", limited.stderr)
        self.assertEqual((self.pull(hub, "o/n") / "model.safetensors").read_bytes(), noise(3 << 20))

    def test_a_cache_that_cannot_be_written(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        self.cache.write_text("a file")
        self.assertIn(str(self.cache), self.refused(hub, "pull", "o/n"))

    def test_nothing_is_written_where_all_is_there(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        folder = self.pull(hub, "o/n")
        (self.cache / "CACHEDIR.TAG").unlink()  # as another program leaves a cache
        places = [self.cache, *self.cache.rglob("*")]
        before = [(str(place), place.lstat().st_ino, place.lstat().st_mtime_ns) for place in places]
        for place in places:
            if place.is_dir():
                place.chmod(0o555)
        try:
            self.assertEqual(self.pull(hub, "o/n"), folder)
        finally:
            for place in places:
                if place.is_dir():
                    place.chmod(0o755)
        after = [(str(place), place.lstat().st_ino, place.lstat().st_mtime_ns)
                 for place in [self.cache, *self.cache.rglob("*")]]
        self.assertEqual(sorted(after), sorted(before))


class ProcessesTest(HubCase):
    def test_two_at_once_download_once(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": LARGE}})
        hub.fault("model.safetensors", "slow", times=None, seconds=0.02)
        both = [subprocess.Popen([PROGRAM, "pull", "o/n"], env=self.environment(hub), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=120) for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], said)
        self.assertEqual(said[0][0], said[1][0])
        self.assertLess(hub.sent, len(LARGE) + 1000)

    def test_proxies(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        proxied = {"HF_ENDPOINT": "http://hub.invalid", "http_proxy": hub.url}
        usual = hub._answer

        def answer(request):  # a proxy is asked for whole addresses
            self.assertTrue(request.path.startswith("http://hub.invalid/"))
            request.path = request.path[len("http://hub.invalid"):]
            usual(request)

        proxy = hub._serve(answer)
        self.pull(hub, "o/n", **{**proxied, "http_proxy": proxy})

    def test_tls_is_checked(self):
        certificate, key = self.home / "hub.pem", self.home / "key.pem"
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
                               "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext",
                               "subjectAltName=IP:127.0.0.1,DNS:localhost"], capture_output=True)
        if made.returncode:
            self.skipTest("there is no openssl")
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": noise(300_000)}}, tls=(certificate, key))
        self.assertIn("certificate", self.refused(hub, "pull", "o/n"))
        self.pull(hub, "o/n", SSL_CERT_FILE=str(certificate))


class CacheTest(HubCase):
    def test_list_and_rm(self):
        quants = {f"n-{quant}.gguf": b"GGUF" + noise(5000, seed) for seed, quant in enumerate(["Q8_0", "Q4_K_M"])}
        hub = self.hub({"o/n": quants, "o/m": {**SMALL, "model.safetensors": noise(300_000)}})
        self.pull(hub, "o/n")
        self.pull(hub, "o/n:Q8_0")
        self.pull(hub, "o/m")
        text = self.run_program(hub, "list").stdout
        self.assertIn("o/m", text)
        self.assertIn("Q4_K_M, Q8_0", text)
        listed = json.loads(self.run_program(hub, "list", "--json").stdout)
        self.assertEqual([(m["id"], m["refs"], m["quants"]) for m in listed],
                         [("o/m", ["main"], []), ("o/n", ["main"], ["Q4_K_M", "Q8_0"])])
        self.assertEqual(listed[1]["bytes"], 2 * 5004)
        self.assertIn("5 kB", self.run_program(hub, "rm", "o/n:Q8_0").stdout)
        self.assertEqual(self.files(), ["n-Q4_K_M.gguf"])
        blob, = (self.cache / "models--o--n/blobs").iterdir()
        self.assertEqual(blob.read_bytes(), quants["n-Q4_K_M.gguf"])
        self.assertIn("not in the cache", self.refused(hub, "rm", "o/n:Q8_0"))
        self.run_program(hub, "rm", "o/n", "o/m")
        self.assertEqual(list((self.cache / ".locks").glob("*/*")), [])
        self.assertEqual(json.loads(self.run_program(hub, "list", "--json").stdout), [])
        self.assertIn("not in the cache", self.refused(hub, "rm", "o/m"))

    def test_names_of_revisions_are_listed_in_order(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        revisions = [f"refs/pr/{n}" for n in (5, 9, 2, 7, 1, 8)]
        for revision in revisions:
            self.pull(hub, "o/n", "--revision", revision)
        listed, = json.loads(self.run_program(hub, "list", "--json").stdout)
        self.assertEqual(listed["refs"], sorted(revisions))

    def test_one_file_of_a_repository(self):
        hub = self.hub({"o/n": {"folder/a.gguf": b"GGUF" + noise(96), "folder/b.gguf": b"GGUF" + noise(500)}})
        found = self.run_program(hub, "pull", "o/n/folder/a.gguf").stdout.strip()
        self.assertEqual(pathlib.Path(found).read_bytes(), b"GGUF" + noise(96))
        offline = ["--offline", "--prompt", "x"]
        self.assertIn(f"({found}, ", self.refused(hub, "generate", "--model", "o/n/folder/a.gguf", *offline))
        self.assertIn("there is no", self.refused(hub, "generate", "--model", "o/n/folder/b.gguf", *offline))
        self.assertIn(" 100 bytes", self.run_program(hub, "rm", "o/n/folder/a.gguf").stdout)

    def test_flags_may_stand_before_names(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        mine = str(self.home / "mine")
        folder = self.pull(hub, "--revision", "main", "--download-dir", mine, "o/n")
        self.assertTrue(folder.is_relative_to(mine))
        self.assertIn("o/n removed", self.run_program(hub, "rm", "--download-dir", mine, "o/n").stdout)
        self.assertFalse(folder.exists())
        demo = str(MODELS / "demo")
        behind, before = (self.run_program(hub, "inspect", *words).stdout
                          for words in ([demo, "--json"], ["--json", demo]))
        self.assertTrue(json.loads(before)["served"])
        self.assertEqual(before, behind)
        self.assertEqual(self.run_program(hub, "inspect", "--model", demo, demo).returncode, 2)

    def test_another_folder(self):
        hub = self.hub({"o/n": {**SMALL, "model.safetensors": b"x"}})
        folder = self.pull(hub, "o/n", "--download-dir", str(self.home / "mine"))
        self.assertTrue(folder.is_relative_to(self.home / "mine"))
        self.assertFalse(self.cache.exists())


class ModelTest(HubCase):
    """The demo model as a repository of the hub."""

    def answer(self, hub, *words, **more):
        return self.run_program(hub, "generate", "--prompt", "Once", "--max-new-tokens", "8", "--threads", "2",
                                "--log-level", "error", *words, **more)

    def test_a_model_is_downloaded_once_and_then_served_offline(self):
        demo = {path.name: path.read_bytes() for path in (MODELS / "demo").iterdir() if path.is_file()}
        hub = self.hub({"o/demo": demo})
        wanted = self.answer(hub, "--model", str(MODELS / "demo"))
        first = self.answer(hub, "--model", "o/demo")
        self.assertEqual((first.returncode, first.stdout), (0, wanted.stdout), first.stderr)
        hub.requests.clear()
        for more in {}, {"HF_HUB_OFFLINE": "1"}:
            again = self.answer(hub, "--model", "o/demo", **more)
            self.assertEqual((again.returncode, again.stdout), (0, wanted.stdout), again.stderr)
        draft = self.answer(hub, "--model", "o/demo", "--offline", "--speculative-algorithm", "STANDALONE",
                            "--speculative-draft-model-path", "o/demo")
        self.assertEqual((draft.returncode, draft.stdout), (0, wanted.stdout), draft.stderr)
        self.assertEqual(hub.requests, [])
        report = json.loads(self.run_program(hub, "inspect", "o/demo", "--json").stdout)
        self.assertTrue(report["served"])

    def test_offline_nothing_is_asked(self):
        hub = self.hub({"o/demo": SMALL})
        for refusal in (self.refused(hub, "generate", "--model", "o/demo", "--offline", "--prompt", "x"),
                        self.refused(hub, "generate", "--model", "o/demo", "--prompt", "x", HF_HUB_OFFLINE="1")):
            self.assertIn("nothing is downloaded", refusal)
        self.assertIn("HF_HUB_OFFLINE", self.refused(hub, "pull", "o/demo", HF_HUB_OFFLINE="1"))
        self.assertEqual(hub.requests, [])

    def test_a_wrong_flag_is_told_before_anything_is_downloaded(self):
        hub = self.hub({"o/demo": SMALL})
        result = self.run_program(hub, "serve", "--model", "o/demo", "--port", "70000")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(hub.requests, [])

    def test_what_needs_no_model_is_told_before_weights_are_downloaded(self):
        demo = {path.name: path.read_bytes() for path in (MODELS / "demo").iterdir() if path.is_file()}
        hub = self.hub({"o/demo": demo})
        taken = self.enterContext(socket.socket())
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        lacking = "amx" if platform.machine() == "aarch64" else "neon"
        for flags in [["--port", str(taken.getsockname()[1])], ["--host", "192.0.2.1"],
                      ["--speculative-algorithm", "STANDALONE"],
                      ["--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", "o/none"],
                      ["--tokenizer-path", "o/none"], ["--chat-template", "nope.jinja"], ["--cpu-isa", lacking],
                      ["--device", "vulkan:no such device"],
                      ["--speculative-algorithm", "SUFFIX", "--speculative-num-steps", "9",
                       "--speculative-eagle-topk", "3", "--speculative-num-draft-tokens", "500"],
                      ["--speculative-algorithm", "SUFFIX", "--speculative-token-map", "/no/such/map.pt"]]:
            if "--port" not in flags:
                flags = [*flags, "--port", "0"]
            result = self.run_program(hub, "serve", "--model", "o/demo", *flags)
            self.assertIn(result.returncode, (1, 2), flags)
            self.assertIn("foretoken: ", result.stderr, flags)
            self.assertEqual([r for r in hub.requests if "/resolve/" in r[1]], [], flags)
        self.assertFalse(self.cache.exists())

    def test_the_port_is_bound_before_the_download(self):
        demo = {path.name: path.read_bytes() for path in (MODELS / "demo").iterdir() if path.is_file()}
        hub = self.hub({"o/demo": demo})
        hub.fault("model.safetensors", "stall", times=1, after=1000, seconds=60)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = self.home / "log"
        with log.open("w") as out:
            server = subprocess.Popen([PROGRAM, "serve", "--model", "o/demo", "--port", str(port)], stdout=out,
                                      stderr=out, env=self.environment(hub, HF_HUB_DOWNLOAD_TIMEOUT="60"))
        try:
            while hub.downloads("model.safetensors") == 0 and server.poll() is None:
                time.sleep(0.02)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30)
            self.assertEqual(refused.exception.code, 503, log.read_text())
        finally:
            server.kill()
            server.wait()

    def test_the_usual_quantization_goes_before_one_that_is_cached(self):
        quants = {f"n-{quant}.gguf": b"GGUF" + noise(50, seed) for seed, quant in enumerate(["Q8_0", "Q4_K_M"])}
        hub = self.hub({"o/n": quants, "o/eight": {name: quants[name] for name in ["n-Q8_0.gguf"]},
                        "o/others": {"n-Q8_0.gguf": b"GGUF1", "n-Q5_0.gguf": b"GGUF2"}})
        for model in "o/n", "o/eight", "o/others":
            self.pull(hub, model + ":Q8_0")
        hub.requests.clear()

        def file_read(model, *words):
            """The program says which file is no model."""
            refusal = self.refused(hub, "generate", "--model", model, "--prompt", "x", *words)
            return refusal.split("/")[-1].split(".gguf")[0], self.run_program(
                hub, "generate", "--model", model, "--prompt", "x", *words).stderr

        name, said = file_read("o/n", "--offline")
        self.assertEqual(name, "n-Q8_0")
        self.assertIn("names no quantization and the cache holds one, which is taken: ", said)
        self.assertEqual(hub.requests, [])
        self.assertEqual(file_read("o/n")[0], "n-Q4_K_M")
        self.assertEqual(self.files(), ["n-Q4_K_M.gguf", "n-Q8_0.gguf"])
        name, said = file_read("o/eight")
        self.assertEqual(name, "n-Q8_0")
        self.assertNotIn("which is taken", said)
        name, said = file_read("o/others")
        self.assertEqual(name, "n-Q8_0")
        self.assertIn("which is taken", said)
        self.assertIn("no quantization Q4_K_M", said)

    def test_a_tokenizer_that_another_program_left_out_is_downloaded(self):
        demo = {path.name: path.read_bytes() for path in (MODELS / "demo").iterdir() if path.is_file()}
        hub = self.hub({"o/demo": demo})
        wanted = self.answer(hub, "--model", "o/demo")
        self.assertEqual(wanted.returncode, 0, wanted.stderr)
        text = [name for name in self.files("models--o--demo") if name not in ("config.json", "model.safetensors")]
        self.assertIn("tokenizer.json", text)
        for name in text:
            link = self.cache / "models--o--demo/snapshots" / COMMIT / name
            blob = link.resolve()
            link.unlink()
            blob.unlink(missing_ok=True)
        offline = self.answer(hub, "--model", "o/demo", "--offline")
        self.assertIn("no tokenizer", offline.stderr)
        hub.requests.clear()
        again = self.answer(hub, "--model", "o/demo")
        self.assertEqual((again.returncode, again.stdout), (0, wanted.stdout), again.stderr)
        self.assertEqual(hub.downloads("tokenizer.json"), 1)
        self.assertEqual(hub.downloads("model.safetensors"), 0)

    def test_a_token_map_and_a_draft_are_downloaded(self):
        hub = self.hub({"o/maps": {"freq.pt": b"x"}})
        refusal = self.refused(hub, "serve", "--speculative-algorithm", "EAGLE", "--speculative-draft-model-path",
                               "o/no-head", "--speculative-token-map", "o/maps/freq.pt")
        self.assertIn("o/no-head is neither a path here", refusal)
        self.assertIn("--speculative-draft-model-path", refusal)
        self.refused(hub, "serve", "--speculative-algorithm", "EAGLE", "--speculative-draft-model-path",
                     str(MODELS / "demo"), "--speculative-token-map", "o/maps/freq.pt")
        self.assertEqual(hub.downloads("freq.pt"), 1)


if not hasattr(unittest.TestCase, "enterContext"):  # Python before 3.11

    def enter(self, manager):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(manager)

    unittest.TestCase.enterContext = enter

if __name__ == "__main__":
    unittest.main()
