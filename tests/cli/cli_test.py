#!/usr/bin/env python3
"""Starts the program as a user would: help, exit codes, one-sentence errors, the log, signals.

Usage: cli_test.py PATH_OF_PROGRAM.
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
import tempfile
import time
import unittest
import urllib.error

from cli_case import CONFIG, PROGRAM, CliCase, run
from served import free_port, wait_until_ready


class CliTest(CliCase):
    def test_help_of_a_command(self):
        self.assertEqual(run("help", "serve").stdout, run("serve", "--help").stdout)
        self.assertEqual(run("help", "serve").returncode, 0)
        unknown = run("help", "nonsense")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("unknown command 'nonsense'", unknown.stderr)

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
                    wait_until_ready(f"http://127.0.0.1:{port}", process)
                    self.assertEqual(len(self.generate(f"http://127.0.0.1:{port}")["output_ids"]), 8)
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(30), 0)
                finally:
                    process.kill()
                    process.wait()

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
