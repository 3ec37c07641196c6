#!/usr/bin/env python3
"""Starts the program as a user would: help, exit codes, one-sentence errors, the log, signals.

Usage: cli_test.py PATH_OF_PROGRAM. The model is a made-up config with random weights and no tokenizer.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class CliTest(unittest.TestCase):
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

    @contextlib.contextmanager
    def server(self, *flags, preexec_fn=None, **variables):
        """A running server as (url, process); its log is process.log() once it has ended."""
        port = free_port()
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen([PROGRAM, *self.serve_flags("--port", str(port), *flags)],
                                       env={**os.environ, **variables}, stdout=log, stderr=log, text=True,
                                       preexec_fn=preexec_fn)
            process.log = lambda: (log.seek(0), log.read())[1]
            url = f"http://127.0.0.1:{port}"
            try:
                for _ in range(600):
                    if process.poll() is not None:
                        self.fail("the server ended: " + process.log())
                    with contextlib.suppress(urllib.error.URLError, ConnectionError):
                        if urllib.request.urlopen(url + "/v1/models", timeout=60).status == 200:
                            break
                    time.sleep(0.1)
                yield url, process
            finally:
                process.kill()
                process.wait()

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

    def test_help_and_version(self):
        for args in [[], ["--help"], ["-h"], ["help"]]:
            self.assertIn("foretoken serve", run(*args).stdout)
        for command in ["serve", "generate", "tokenize", "inspect"]:
            result = run(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("--model-path", result.stdout)
        for args in [["--version"], ["serve", "--version"], ["generate", "--prompt", "x", "--version"]]:
            self.assertRegex(run(*args).stdout, r"^foretoken \d+\.\d+\.\d+( \([0-9a-f]+(-dirty)?\))?\n$")

    def test_wrong_usage_ends_with_2(self):
        self.assert_one_sentence(run("fly"), 2, "unknown command 'fly'")
        self.assert_one_sentence(run("serve", "--prot", "1"), 2, "did you mean --port?")
        self.assert_one_sentence(run("serve", "--port", "x"), 2, "--port: expected an integer")
        self.assert_one_sentence(run("generate", "--model", self.model), 2, "--prompt")

    def test_what_is_not_supported_is_refused_by_name(self):
        for flags in [["--speculative-algorithm", "DFLASH"], ["--tp", "2"], ["--quantization", "marlin"],
                      ["--enable-lora"], ["--device", "cuda"], ["--load-format", "npcache"]]:
            result = run(*self.serve_flags(*flags))
            self.assert_one_sentence(result, 2, "not supported yet")

    def test_inspect_says_what_a_model_is_and_loads_nothing(self):
        demo = str(pathlib.Path(__file__).parents[2] / "models" / "demo")
        result = run("inspect", demo, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["served"])
        self.assertEqual(report["format"], "safetensors")
        self.assertEqual(report["parameters"], sum(kind["elements"] for kind in report["types"].values()))
        self.assertGreater(report["config"]["context_length"], 0)
        self.assertIn(report["config"]["architecture"], run("inspect", demo).stdout)
        memory = report["memory"]
        self.assertEqual(memory["bytes"], report["bytes"] + memory["kv_bytes_per_token"] * memory["context_length"])
        more = json.loads(run("inspect", demo, "--json", "--context-length", "100", "--max-running-requests", "3").stdout)
        self.assertEqual(more["memory"]["bytes"], report["bytes"] + memory["kv_bytes_per_token"] * 300)
        self.assertEqual(report["drafts_unasked"], "SUFFIX")
        drafters = {pathlib.Path(each["path"]).name: each for each in report["drafters"]}
        self.assertEqual({name: (each["algorithm"], each["fits"]) for name, each in drafters.items()},
                         {"demo-draft": ("STANDALONE", True), "demo-eagle": ("EAGLE", True),
                          "demo-eagle3": ("EAGLE3", True)})
        without_weights = run("inspect", "--model", self.model)
        self.assertEqual(without_weights.returncode, 1)
        self.assertIn("served         no: no weights in the model folder", without_weights.stdout)

    def test_inspect_says_the_same_to_people(self):
        demo = str(self.DEMO / "demo")
        report = json.loads(run("inspect", demo, "--json").stdout)
        lines = [line.strip() for line in run("inspect", demo).stdout.splitlines()]
        config, tensors = report["config"], sum(kind["tensors"] for kind in report["types"].values())
        types = [f"{name:14} {kind['tensors']:3} tensors, {kind['bytes'] / 1e6:.1f} MB" for name, kind in report["types"].items()]
        for line in [f"architecture   {config['architecture']}", f"layers         {config['layers']}",
                     f"width          {config['hidden_size']}, MLP {config['intermediate_size']}",
                     f"parameters     {report['parameters'] / 1e6:.1f} M", *types,
                     f"heads          {config['heads']} of {config['head_dim']}, KV heads {config['kv_heads']}",
                     f"weights        safetensors, {report['bytes'] / 1e6:.1f} MB in {tensors} tensors",
                     f"tokenizer      {report['tokens']} tokens", "served         yes"]:
            self.assertIn(line, lines)

    def test_generate_prints_an_answer_up_to_its_limit(self):
        flags = ["--prompt", "Hello", "--model", str(self.DEMO / "demo"), "--threads", "2"]
        short = run("generate", *flags, "--max-new-tokens", "4")
        self.assertEqual(short.returncode, 0, short.stderr)
        self.assertRegex(short.stdout, r"\S")
        self.assertTrue(short.stdout.endswith("\n"))
        longer = run("generate", *flags, "--max-new-tokens", "12").stdout
        self.assertTrue(longer.startswith(short.stdout[:-1]), longer)

    def test_what_cannot_be_printed_is_an_error(self):
        demo = str(self.DEMO / "demo")
        for args in [["generate", "--prompt", "Hello", "--model", demo, "--max-new-tokens", "2"],
                     ["inspect", demo], ["list", "--json"], ["--version"]]:
            with self.subTest(args), open("/dev/full", "w") as full:
                result = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("foretoken: cannot write to standard output", result.stderr)

    def test_closed_streams_are_taken_by_nothing_else(self):
        for closing, closed in [("2>&-", [2]), ("0<&- 1>&- 2>&-", [0, 1, 2])]:
            with self.subTest(closing):
                port = free_port()
                command = shlex.join([PROGRAM, *self.serve_flags("--port", str(port))])
                process = subprocess.Popen(["sh", "-c", f"exec {command} {closing}"], stdout=subprocess.DEVNULL)
                try:
                    for _ in range(600):
                        self.assertIsNone(process.poll(), "the server ended")
                        with contextlib.suppress(urllib.error.URLError, ConnectionError):
                            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=60)
                            break
                        time.sleep(0.1)
                    for stream in closed:
                        self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{stream}"), "/dev/null")
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(30), 0)
                finally:
                    process.kill()
                    process.wait()

    def test_a_first_corpus_without_tokens_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as corpus:
            corpus.write('""\n')
            corpus.flush()
            result = run("generate", "--prompt", "Hello", "--model", str(self.DEMO / "demo"),
                         "--speculative-algorithm", "NGRAM", "--speculative-ngram-external-corpus-path", corpus.name,
                         "--speculative-ngram-external-sam-budget", "4")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr.splitlines()[-1], "^foretoken: the external corpus cannot be loaded .* has no tokens")

    def test_what_cannot_start_ends_with_1(self):
        self.assert_one_sentence(run("serve", "--model", "/no/such/folder"), 1, "/no/such/folder")
        self.assert_one_sentence(run("serve", "--model", "nobody/nothing"), 1, "nothing is downloaded")
        with tempfile.TemporaryDirectory() as empty:
            self.assert_one_sentence(run("serve", "--model", empty, "--log-level", "warning"), 1, empty)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            result = run(*self.serve_flags("--port", port, "--log-level", "warning"))
            self.assert_one_sentence(result, 1, port)
            self.assertNotIn("Load weight begin", run(*self.serve_flags("--port", port)).stderr)

    def test_connections_are_fewer_than_descriptors(self):
        def few_descriptors():
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))

        with self.server(preexec_fn=few_descriptors) as (url, process):
            address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
            idle = [socket.create_connection(address, 10) for _ in range(180)]
            closed = idle[0].recv(100)  # the oldest made room for others
            self.assertEqual(closed, b"")
            self.assertEqual(self.generate(url)["meta_info"]["completion_tokens"], 8)
            for connection in idle:
                connection.close()
            process.terminate()
            process.wait(60)
            self.assertIn("172 connections may be open at once", process.log())
            self.assertNotIn("cannot accept a connection", process.log())

    def test_while_the_model_is_loaded_requests_are_refused_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "config.json").write_text(json.dumps(CONFIG))
            os.mkfifo(pathlib.Path(folder, "model.safetensors"))  # waits for somebody to write
            port = free_port()
            process = subprocess.Popen(
                [PROGRAM, "serve", "--model", folder, "--skip-tokenizer-init", "--port", str(port),
                 "--log-level", "warning"], stderr=subprocess.DEVNULL)
            try:
                said = {}
                for _ in range(600):
                    with contextlib.suppress(ConnectionError):
                        for path in ["/health", "/v1/models", "/"]:
                            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                            connection.request("GET", path)
                            reply = connection.getresponse()
                            said[path] = (reply.status, reply.read().decode())
                            connection.close()
                        break
                    time.sleep(0.05)
                self.assertEqual(said["/health"], (503, ""))
                self.assertEqual(said["/v1/models"][0], 503)
                self.assertIn("still being loaded", said["/v1/models"][1])
                self.assertEqual(said["/"][0], 200)
                self.assertIn("<!doctype html>", said["/"][1].lower())
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(30), -signal.SIGTERM)
            finally:
                process.kill()
                process.wait()

    def test_a_request_that_takes_too_long_ends_with_the_reason(self):
        with self.server("--request-timeout", "0.001") as (url, _):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                self.generate(url, sampling_params={"max_new_tokens": 200, "ignore_eos": True})
            self.assertIn("deadline", caught.exception.read().decode())

    def test_the_start_from_files_is_silent_at_level_warning(self):
        flags = ["--max-new-tokens", "1", "--prompt", "Hello", "--model", str(self.DEMO / "demo")]
        self.assertEqual(run("generate", *flags, "--log-level", "warning").stderr, "")
        self.assertIn("checkpoint shards", run("generate", *flags, "--log-level", "info").stderr)

    def test_the_start_is_silent_at_level_warning(self):
        with self.server("--log-level", "warning", "--cuda-graph-max-bs", "8") as (_, process):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)
            self.assertEqual(process.log(), "")

    def test_the_log_has_the_lines_that_readers_look_for(self):
        flags = ["--cuda-graph-max-bs", "8", "--api-key", "", "--log-level", "debug"]
        with self.server(*flags) as (url, process):
            self.generate(url)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)
            log = process.log()
        for pattern in [r"  address  127\.0\.0\.1:\d+",
                        r"server_args=ServerArgs\(model_path='", r"Load weight begin\.",
                        r"Load weight end\. type=LlamaForCausalLM, dtype=bfloat16",
                        r"KV Cache is allocated\. #tokens: \d+, K size: ", r"Memory pool end\.",
                        r"max_total_num_tokens=\d+, chunked_prefill_size=512",
                        r"Prefill batch, #new-seq: 1, #new-token: ",
                        r"The server is fired up and ready to roll!"]:
            self.assertRegex(log, pattern)
        self.assertEqual(len(re.findall("--cuda-graph-max-bs has no effect", log)), 1)

    def test_keys_and_values_are_kept_as_asked_for(self):
        answers = []
        drafts = [*self.DRAFTS, "--speculative-draft-model-path", self.model,
                  "--speculative-draft-kv-cache-dtype", "int8"]
        for flags, more in [([], ""), (drafts, r" \(of drafts: int8\)")]:
            with self.server("--kv-cache-dtype", "fp8_e4m3", *flags) as (url, process):
                answers.append(self.generate(url)["output_ids"])
                info = json.load(urllib.request.urlopen(url + "/get_server_info"))
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(30), 0)
                self.assertRegex(process.log(), r"KV Cache is allocated\. .*, dtype: fp8_e4m3" + more + r"\n")
            self.assertEqual(info["kv_cache_dtype"], "fp8_e4m3")
        self.assertEqual(*answers)
        self.assert_one_sentence(run(*self.serve_flags("--kv-cache-dtype", "fp4_e2m1")), 2, "not supported yet")
        self.assert_one_sentence(run(*self.serve_flags("--kv-cache-dtype", "fp9")), 2, "fp8_e4m3", "'fp9'")

    def test_a_log_that_cannot_be_written_costs_nothing_but_the_log(self):
        def on_full_disk(command):
            with open("/dev/full", "w") as full:
                return subprocess.Popen(command, stdout=full, stderr=full)

        def with_a_reader_that_leaves(command):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            process.stdout.close()
            return process

        for start in (on_full_disk, with_a_reader_that_leaves):
            with self.subTest(start.__name__):
                port = free_port()
                process = start([PROGRAM, *self.serve_flags("--port", str(port), "--log-requests")])
                try:
                    for _ in range(600):
                        self.assertIsNone(process.poll(), "the server ended")
                        with contextlib.suppress(urllib.error.URLError, ConnectionError):
                            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=60)
                            break
                        time.sleep(0.1)
                    self.assertEqual(len(self.generate(f"http://127.0.0.1:{port}")["output_ids"]), 8)
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(30), 0)
                finally:
                    process.kill()
                    process.wait()

    def test_flags_reach_the_server(self):
        flags = ["--served-model-name", "nick", "--max-total-tokens", "100", "--context-length=64",
                 "--mem-fraction", "0.3", "--decode-log-interval", "2", "--packed-cache", "/tmp",
                 "--max-running-requests", "7"]
        with self.server(*flags) as (url, process):
            models = json.load(urllib.request.urlopen(url + "/v1/models"))
            self.assertEqual(models["data"][0]["id"], "nick")
            self.assertEqual(models["data"][0]["max_model_len"], 64)
            info = json.load(urllib.request.urlopen(url + "/server_info"))
            self.assertEqual(info["mem_fraction_static"], 0.3)
            self.assertEqual(info["packed_cache"], "/tmp")
            self.assertEqual(info["max_total_num_tokens"], 100)
            self.assertEqual(info["internal_states"][0]["effective_max_running_requests_per_dp"], 7)
            self.generate(url)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)
            self.assertIn("Decode batch, #running-req: 1", process.log())

    def test_the_answer_does_not_depend_on_threads_isa_or_chunks(self):
        answers = []
        for flags in [["--threads", "1"], ["--threads", "3", "--chunked-prefill-size", "2"],
                      ["--cpu-isa", "avx2"], ["--cpu-isa", "scalar", "--disable-radix-cache"]]:
            with self.server("--gemm-order", "pair", *flags) as (url, _):
                answers.append(self.generate(url)["output_ids"])
        self.assertEqual(len(answers[0]), 8)
        self.assertEqual(answers, [answers[0]] * len(answers))

    DRAFTS = ["--speculative-algorithm", "STANDALONE", "--speculative-num-steps", "4",
              "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "5",
              "--draft-budget", "full"]

    DEMO = pathlib.Path(__file__).resolve().parents[2] / "models"

    def test_packed_weights_are_kept_for_the_next_start(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder, "made", "by it")
            flags = ["--prompt", "Hello", "--model", str(self.DEMO / "demo"), "--max-new-tokens", "12",
                     "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path",
                     str(self.DEMO / "demo-eagle3"), "--log-level", "info", "--threads", "2"]

            def answer(cache, *more):
                result = run("generate", *flags, "--packed-cache", str(cache), *more)
                self.assertEqual(result.returncode, 0, result.stderr)
                return result.stdout, result.stderr
            plain = run("generate", *flags).stdout
            self.assertTrue(plain)
            text, log = answer(cache)
            self.assertEqual(text, plain)
            self.assertEqual(len(re.findall("were written to", log)), 2, log)
            files = sorted(cache.iterdir())
            self.assertEqual([re.sub("-[0-9a-f]{16}", "", file.name) for file in files],
                             ["demo-eagle3-draft.packed", "demo-target.packed"])
            text, log = answer(cache)
            self.assertEqual(text, plain)
            self.assertEqual(len(re.findall("were read from", log)), 2, log)
            self.assertNotIn("WARNING", log)

            # Another format has files of its own.
            quantized, log = answer(cache, "--quantization", "w4a8")
            self.assertEqual(len(re.findall("were written to", log)), 2, log)
            self.assertEqual(answer(cache, "--quantization", "w4a8")[0], quantized)
            self.assertEqual(len(list(cache.iterdir())), 4)

            # Damage costs a warning.
            damaged = bytearray(files[1].read_bytes())
            damaged[len(damaged) // 2] ^= 1
            files[1].write_bytes(damaged)
            text, log = answer(cache)
            self.assertEqual(text, plain)
            self.assertRegex(log, "WARNING: Weights are packed anew: .* is damaged at ")
            self.assertEqual(len(re.findall("were read from", answer(cache)[1])), 2)

            # So does a folder that cannot be one.
            text, log = answer(files[0])
            self.assertEqual(text, plain)
            self.assertIn("WARNING: Packed weights are not kept: cannot write file", log)

    def test_a_file_of_packed_weights_that_may_not_grow_costs_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [PROGRAM, "generate", "--prompt", "Hello", "--model", str(self.DEMO / "demo"),
                       "--max-new-tokens", "4", "--log-level", "info", "--packed-cache", folder]
            limited = subprocess.run(["bash", "-c", 'ulimit -f 1000; exec "$@"', "bash", *command],
                                     capture_output=True, text=True, timeout=120)
            self.assertEqual(limited.returncode, 0, limited.stderr)
            self.assertIn("WARNING: Packed weights are not kept: cannot write file", limited.stderr)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_drafts_come_from_earlier_texts(self):
        flags = ["--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "16",
                 "--speculative-ngram-max-match-window-size", "12", "--speculative-ngram-max-bfs-breadth", "10",
                 "--cuda-graph-max-bs", "8", "--mem-fraction-static", "0.8", "--log-level", "warning",
                 "--draft-budget", "full"]
        params = {"max_new_tokens": 30, "temperature": 0, "ignore_eos": True}
        with self.server(*flags) as (url, _):
            first, second = (self.generate(url, sampling_params=params) for _ in range(2))
            info = json.load(urllib.request.urlopen(url + "/server_info"))
        self.assertEqual(first["output_ids"], second["output_ids"])
        self.assertLess(second["meta_info"]["spec_verify_ct"], 15)
        self.assertEqual(info["speculative_num_draft_tokens"], 16)
        self.assertEqual(info["speculative_eagle_topk"], 10)

    def test_sampled_requests_are_verified_greedily_where_the_environment_asks_for_it(self):
        params = {"max_new_tokens": 30, "ignore_eos": True, "sampling_seed": 7}
        flags = ["--speculative-algorithm", "NGRAM", "--draft-budget", "full"]
        variable = {"SGLANG_NGRAM_FORCE_GREEDY_VERIFY": "true"}

        def answers(*flags, **variables):
            with self.server(*flags, **variables) as (url, process):
                texts = [self.generate(url, sampling_params={**params, "temperature": t})["output_ids"]
                         for t in (0, 1)]
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(30), 0)
                return *texts, process.log()

        greedy, sampled, log = answers(*flags)
        self.assertNotEqual(sampled, greedy)
        self.assertNotIn("SGLANG_NGRAM_FORCE_GREEDY_VERIFY", log)
        forced_greedy, forced_sampled, log = answers(*flags, **variable)
        self.assertEqual(forced_greedy, greedy)
        self.assertEqual(forced_sampled, greedy)
        self.assertEqual(len(re.findall("WARNING: SGLANG_NGRAM_FORCE_GREEDY_VERIFY is set", log)), 1)
        _, without_ngram, log = answers(**variable)
        self.assertEqual(without_ngram, sampled)
        self.assertEqual(log.count("SGLANG_NGRAM_FORCE_GREEDY_VERIFY has no effect without"), 1)

    def test_acceptance_is_reported_everywhere(self):
        params = {"max_new_tokens": 31, "temperature": 0, "ignore_eos": True}
        flags = [*self.DRAFTS, "--speculative-draft-model-path", self.model, "--simulate-acc-len", "3",
                 "--enable-metrics", "--decode-log-interval", "5"]
        with self.server(*flags) as (url, process):
            meta = self.generate(url, sampling_params=params)["meta_info"]
            info = json.load(urllib.request.urlopen(url + "/get_server_info"))
            metrics = urllib.request.urlopen(url + "/metrics").read().decode()
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)
            log = process.log()
        # One token ends the prompt, then 10 steps yield 3 each; the last may draft 2 tokens only.
        self.assertEqual(meta["spec_verify_ct"], 10)
        self.assertEqual(meta["spec_accept_length"], 3.1)
        for name in ["spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"]:
            self.assertEqual(meta[name], 20)
        for name in ["spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"]:
            self.assertEqual(meta[name], 38)
        for name in ["spec_correct_drafts_histogram", "spec_accept_histogram"]:
            self.assertEqual(meta[name], [0, 0, 10])
        self.assertAlmostEqual(meta["spec_accept_rate"], 20 / 38)
        self.assertEqual(info["internal_states"][0]["avg_spec_accept_length"], 3.0)
        self.assertRegex(metrics, r"sglang:spec_accept_length\{.*\} 3\n")
        self.assertRegex(metrics, r"sglang:spec_num_steps\{.*\} 4\n")
        self.assertRegex(metrics, r"sglang:spec_num_draft_tokens\{.*\} 5\n")
        self.assertRegex(log, r"Decode batch, .*, accept len: 3\.00, accept rate: 0\.5\d, gen throughput")
        self.assertEqual(len(re.findall("WARNING: Acceptance is simulated: 3 tokens", log)), 1)

    def test_what_is_drafted_shows_in_the_counters_only(self):
        params = {"max_new_tokens": 30, "temperature": 0, "ignore_eos": True}
        with self.server("--speculative-algorithm", "none") as (url, _):
            plain = self.generate(url, sampling_params=params)
        with self.server(*self.DRAFTS, "--speculative-draft-model-path", self.model) as (url, _):
            drafted = self.generate(url, sampling_params=params)
            short = self.generate(url, sampling_params={**params, "max_new_tokens": 1})["meta_info"]
        self.assertEqual(drafted["output_ids"], plain["output_ids"])
        meta = drafted["meta_info"]
        self.assertEqual(meta["completion_tokens"], 1 + meta["spec_verify_ct"] + meta["spec_accepted_drafts"])
        histogram = meta["spec_accept_histogram"]
        self.assertEqual(sum(histogram), meta["spec_verify_ct"])
        self.assertEqual(sum(k * n for k, n in enumerate(histogram)), meta["spec_accepted_drafts"])
        for without in [plain["meta_info"], short]:
            self.assertEqual([name for name in without if name.startswith("spec_")], [])

    def test_a_hub_id_is_found_in_the_cache_of_the_environment(self):
        with tempfile.TemporaryDirectory() as home:
            repository = pathlib.Path(home, "hub", "models--owner--name")
            snapshot = repository / "snapshots" / "abc"
            snapshot.mkdir(parents=True)
            (repository / "refs").mkdir()
            (repository / "refs" / "main").write_text("abc")
            (snapshot / "config.json").write_text("{}")
            environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
            (snapshot / "model.safetensors").write_text("")
            result = subprocess.run([PROGRAM, "serve", "--model", "owner/name", "--log-level", "warning"],
                                    env={**environment, "HF_HOME": home}, capture_output=True, text=True,
                                    timeout=60)
        self.assert_one_sentence(result, 1, "snapshots/abc")


if __name__ == "__main__":
    unittest.main()
