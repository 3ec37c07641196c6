#!/usr/bin/env python3
"""Flags of `foretoken serve` as a client sees them: in answers, in what the server says of itself, in its log.

Usage: flags_test.py PATH_OF_PROGRAM.
"""
import json
import re
import signal
import unittest
import urllib.request

from cli_case import CliCase, run


class FlagsTest(CliCase):
    DRAFTS = ["--speculative-algorithm", "STANDALONE", "--speculative-num-steps", "4",
              "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "5",
              "--draft-budget", "full"]

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


if __name__ == "__main__":
    unittest.main()
