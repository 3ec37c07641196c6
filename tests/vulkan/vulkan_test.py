#!/usr/bin/env python3
"""Serves the demo model on a device of Vulkan and on the CPU in tile order: the same answers to the byte.

Usage: vulkan_test.py PATH_OF_PROGRAM FOLDER_OF_SOURCES. The device is what tools/vulkan_run.sh unpacks, or the one that
FORETOKEN_TEST_DEVICE names as --device takes it; without one the test is skipped, with the reason.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from served import served, wait_until_ready  # noqa: E402

SOURCES = pathlib.Path(sys.argv.pop(2))
PROGRAM = sys.argv.pop(1)
RUN = str(SOURCES / "tools" / "vulkan_run.sh")
MODELS = SOURCES / "models"
IS_LONG = os.environ.get("FORETOKEN_LONG_TESTS") == "1"
SOFTWARE = "vulkan:llvmpipe"
DEVICE = os.environ.get("FORETOKEN_TEST_DEVICE") or SOFTWARE
SWIFTSHADER = pathlib.Path("/usr/lib/chromium/vk_swiftshader_icd.json")  # of Debian's chromium
of_software = unittest.skipUnless(DEVICE == SOFTWARE, f"about software devices; this is {DEVICE}")
os.environ["HF_HUB_OFFLINE"] = "1"  # no test asks a hub outside


def run(*args, **variables):
    return subprocess.run([RUN, PROGRAM, *args], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **variables})


def server(*flags, **variables):
    """A running server of the demo model."""
    return served(RUN, PROGRAM, "serve", "--model", str(MODELS / "demo"), "--threads", "2", "--max-total-tokens",
                  "8192", "--max-running-requests", "8", *flags, env={**os.environ, **variables})


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=300))


QUESTIONS = ["List 3 countries and their capitals.", "What is the capital of France?"]
LONG = "The cat sat on the mat. The dog lay by the door. " * 11  # more than a block of attention, repeated for drafts


def requests():
    """(path, body) of what is asked: greedy and sampled, with log probabilities, short and long, in JSON."""
    asked = []
    for number, question in enumerate(QUESTIONS):
        message = {"model": "demo", "max_tokens": 16, "messages": [{"role": "user", "content": question}]}
        asked.append(("/v1/chat/completions", {**message, "temperature": 0, "logprobs": True, "top_logprobs": 3}))
        asked.append(("/v1/chat/completions", {**message, "temperature": 0.9, "seed": number, "top_p": 0.95}))
    asked.append(("/generate", {"text": LONG, "return_logprob": True, "logprob_start_len": 120,
                                "sampling_params": {"max_new_tokens": 16, "temperature": 0, "ignore_eos": True}}))
    asked.append(("/v1/chat/completions", {
        "model": "demo", "max_tokens": 24, "temperature": 0, "messages": [{"role": "user", "content": QUESTIONS[0]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {
            "type": "object", "properties": {"city": {"type": "string", "maxLength": 12}, "size": {"type": "integer"}},
            "required": ["city", "size"], "additionalProperties": False}}}}))
    return asked


def essence(answer):
    """What of an answer is a function of the request."""
    if "choices" in answer:
        return answer["choices"]
    meta = answer["meta_info"]
    return [answer["text"], answer.get("output_ids"), meta["finish_reason"],
            meta.get("input_token_logprobs"), meta.get("output_token_logprobs")]


def answers(*flags, asked=None):
    """All answers: to the last two requests alone, and to all at a time."""
    asked = asked or requests()
    with server(*flags) as (url, _):
        alone = [essence(post(url, path, body)) for path, body in asked[-2:]]
        with concurrent.futures.ThreadPoolExecutor(8) as several:
            together = list(several.map(lambda r: essence(post(url, *r)), asked))
        info = json.load(urllib.request.urlopen(url + "/server_info", timeout=60))
    return alone + together, info


class Vulkan(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        result = run("devices", "--json")
        cls.devices = json.loads(result.stdout)["devices"] if result.returncode == 0 else []
        if DEVICE == SOFTWARE and not any("llvmpipe" in device["name"] for device in cls.devices):
            raise unittest.SkipTest("no software device of Vulkan: " + (result.stdout + result.stderr).strip())

    @of_software
    def test_devices_are_listed_with_what_they_are_good_for(self):
        device = next(device for device in self.devices if "llvmpipe" in device["name"])
        self.assertEqual(device["kind"], "software")
        self.assertEqual(device["lacks"], [])
        self.assertIn("for tests", device["use"])
        self.assertGreater(device["memory_bytes"], 0)
        text = run("devices").stdout
        self.assertIn(device["name"], text)
        self.assertIn(device["use"], text)

    @of_software
    def test_software_is_taken_only_by_name(self):
        result = run("serve", "--model", str(MODELS / "demo"), "--device", "vulkan")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("software devices are taken only by name", result.stderr)
        self.assertIn("llvmpipe", result.stderr)

    def test_what_the_device_does_not_hold_is_refused_at_start(self):
        result = run("serve", "--model", str(MODELS / "demo"), "--device", DEVICE, "--gemm-order", "pair")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("tile order", result.stderr)

    @of_software
    def test_a_gpu_is_checked_by_one_command(self):
        script, programs = str(SOURCES / "tools" / "gpu_check.sh"), str(pathlib.Path(PROGRAM).parent)
        root = os.environ.get("FORETOKEN_VULKAN_ROOT", str(SOURCES / "build" / "vulkan"))
        result = subprocess.run([script, "--quick", "--device", DEVICE, "--programs", programs], text=True, timeout=300,
                                capture_output=True, env={**os.environ, "FORETOKEN_VULKAN_ROOT": root})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(result.stdout.endswith("gpu_check: passed\n"), result.stdout)
        self.assertRegex(result.stdout, r"attention +4 +\d")
        self.assertRegex(result.stdout, r"chain, full +\d")
        result = subprocess.run([script, "--quick", "--device", "vulkan:no such", "--programs", programs], text=True,
                                timeout=300, capture_output=True, env={**os.environ, "FORETOKEN_VULKAN_ROOT": root})
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("gpu_check: failed: operations steps drafts", result.stdout)

    @of_software
    @unittest.skipUnless(SWIFTSHADER.exists(), f"no {SWIFTSHADER}")
    def test_arithmetic_that_gives_no_order_is_refused(self):
        result = run("serve", "--model", str(MODELS / "demo"), "--device", "vulkan:swiftshader",
                     FORETOKEN_VULKAN_DRIVER=str(SWIFTSHADER))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("gives no reproducible order", result.stderr)
        self.assertIn("found neither of the last two", result.stderr)

    def compare(self, *flags, asked=None):
        expected, _ = answers("--device", "cpu", "--gemm-order", "tile", *flags, asked=asked)
        found, info = answers("--device", DEVICE, "--gemm-order", "tile", *flags, asked=asked)
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertEqual(one, other)
        return info

    @of_software
    @unittest.skipUnless(os.environ.get("LOSING_LAYER"), "LOSING_LAYER names no layer")
    def test_a_lost_device_is_started_again_once(self):
        asked = {"text": "One, two", "sampling_params": {"max_new_tokens": 8, "temperature": 0}}
        with tempfile.TemporaryDirectory() as folder:
            name, trigger = "VK_LAYER_TEST_losing", pathlib.Path(folder) / "lose"
            (pathlib.Path(folder) / "losing.json").write_text(json.dumps({"file_format_version": "1.2.0", "layer": {
                "name": name, "type": "GLOBAL", "library_path": os.environ["LOSING_LAYER"], "api_version": "1.3.0",
                "implementation_version": "1", "description": "loses the device"}}))
            with server("--device", DEVICE, VK_LAYER_PATH=folder, VK_INSTANCE_LAYERS=name,
                        LOSING_LAYER_FILE=str(trigger)) as (url, process):
                expected = essence(post(url, "/generate", asked))
                trigger.touch()
                status, reason = self.refusal(url, asked)
                self.assertEqual(status, 503)
                self.assertIn("the device is lost", reason)
                wait_until_ready(url, process)
                self.assertEqual(essence(post(url, "/generate", asked)), expected)
                trigger.touch()
                self.assertEqual(self.refusal(url, asked)[0], 503)
                for _ in range(2):  # it stays so, and says why
                    status, text = self.health(url)
                    self.assertEqual(status, 503)
                    self.assertIn("the device is lost", text)
                    self.assertEqual(self.refusal(url, asked)[0], 503)

    def refusal(self, url, body):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            post(url, "/generate", body)
        return caught.exception.code, caught.exception.read().decode()

    def health(self, url):
        try:
            with urllib.request.urlopen(url + "/health", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_plain_answers(self):
        self.compare("--speculative-algorithm", "none")

    def test_answers_with_drafts_from_the_text(self):
        self.compare("--speculative-algorithm", "NGRAM")

    def test_answers_of_weights_of_fewer_bits(self):
        for name in ["int4", "w4a8"]:
            with self.subTest(name):
                self.compare("--speculative-algorithm", "NGRAM", "--quantization", name, asked=requests()[:2])

    def test_answers_of_weights_of_fp16_and_float32(self):
        for name in ["float16", "float32"]:
            with self.subTest(name):
                self.compare("--speculative-algorithm", "NGRAM", "--dtype", name, asked=requests()[:2])

    def test_matrix_units_answer_with_drafts_as_without(self):
        order = ("--device", DEVICE, "--gemm-order", "mma", "--dtype", "float16")
        plain, info = answers(*order, "--speculative-algorithm", "none", asked=requests()[:5])
        if DEVICE != SOFTWARE and "mma order" not in info["backend"]:
            self.skipTest("no matrix units: " + info["backend"])
        self.assertIn("mma order by matrix units of fp16", info["backend"])
        drafted, info = answers(*order, "--speculative-algorithm", "NGRAM", asked=requests()[:5])
        self.assertGreater(info["internal_states"][0]["drafts"]["accepted_tokens"], 0)
        for one, other in zip(drafted, plain, strict=True):
            self.assertEqual(one, other)

    def test_answers_of_keys_and_values_of_8_bits(self):
        self.compare("--speculative-algorithm", "NGRAM", "--kv-cache-dtype", "fp8_e4m3", asked=requests()[:2])

    @unittest.skipUnless(IS_LONG, "a minute each: FORETOKEN_LONG_TESTS=1 runs them")
    def test_answers_with_drafts_of_a_model(self):
        self.compare("--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", str(MODELS / "demo-draft"))

    @unittest.skipUnless(IS_LONG, "a minute each: FORETOKEN_LONG_TESTS=1 runs them")
    def test_answers_with_drafts_of_a_head(self):
        self.compare("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", str(MODELS / "demo-eagle3"))


if __name__ == "__main__":
    unittest.main()
