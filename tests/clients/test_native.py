"""requests on SGLang's own routes."""

import json
import threading
import time
import unittest

import requests

from server import URL, ServerCase


class GenerateTest(ServerCase):
    def generate(self, **body):
        reply = self.post("/generate", body)
        self.assertEqual(reply.status_code, 200, reply.text)
        return reply.json()

    def test_text(self):
        answer = self.generate(text="The capital of France is",
                               sampling_params={"temperature": 0, "max_new_tokens": 8})
        meta = answer["meta_info"]
        self.assertEqual(len(answer["output_ids"]), meta["completion_tokens"])
        self.assertIn(meta["finish_reason"]["type"], ("stop", "length"))
        self.assertGreater(meta["e2e_latency"], 0)

    def test_ids_text_and_batch_agree(self):
        text, params = "Once upon a time", {"temperature": 0, "max_new_tokens": 12}
        ids = self.post("/tokenize", {"prompt": text}).json()["tokens"]
        one = self.generate(text=text, sampling_params=params)["output_ids"]
        self.assertEqual(self.generate(input_ids=ids, sampling_params=params)["output_ids"], one)
        batch = self.generate(text=[text, "Two", text], sampling_params=params)
        self.assertEqual([batch[0]["output_ids"], batch[2]["output_ids"]], [one, one])

    def test_detokenize_gives_the_text(self):
        answer = self.generate(text="Hello", sampling_params={"temperature": 0, "max_new_tokens": 12,
                                                              "ignore_eos": True})
        text = self.post("/detokenize", {"tokens": answer["output_ids"]}).json()["text"]
        self.assertEqual(text, answer["text"])

    def test_stream_is_cumulative(self):
        body = {"text": "Once upon a time", "stream": True,
                "sampling_params": {"temperature": 0, "max_new_tokens": 20}}
        before, last = "", None
        with requests.post(URL + "/generate", json=body, stream=True, timeout=60) as reply:
            for line in reply.iter_lines():
                if not line.startswith(b"data: "):
                    continue
                if line == b"data: [DONE]":
                    break
                last = json.loads(line[6:])
                self.assertTrue(last["text"].startswith(before))
                before = last["text"]
        body.pop("stream")
        self.assertEqual(before, self.generate(**body)["text"])
        self.assertIsNotNone(last["meta_info"]["finish_reason"])

    def test_logprobs_of_the_prompt_match_those_of_generation(self):
        params = {"temperature": 0, "max_new_tokens": 6, "ignore_eos": True}
        ids = self.post("/tokenize", {"prompt": "Once upon a time"}).json()["tokens"]
        first = self.generate(input_ids=ids, sampling_params=params, return_logprob=True)
        output = first["meta_info"]["output_token_logprobs"]
        again = self.generate(input_ids=ids + first["output_ids"], return_logprob=True,
                              logprob_start_len=len(ids), top_logprobs_num=2,
                              sampling_params={"temperature": 0, "max_new_tokens": 1})
        scored = again["meta_info"]["input_token_logprobs"]
        self.assertEqual([t[1] for t in scored], [t[1] for t in output])
        for a, b in zip(scored, output):
            self.assertAlmostEqual(a[0], b[0], places=4)
        self.assertEqual(len(again["meta_info"]["input_top_logprobs"]), len(scored))

    def test_a_repeated_prompt_is_cached(self):
        text = "A rather long prompt that fills more than one page. " * 4
        params = {"temperature": 0, "max_new_tokens": 2}
        self.generate(text=text, sampling_params=params)
        self.assertGreater(
            self.generate(text=text, sampling_params=params)["meta_info"]["cached_tokens"], 0)
        self.assertEqual(self.post("/flush_cache", {}).status_code, 200)
        self.assertEqual(
            self.generate(text=text, sampling_params=params)["meta_info"]["cached_tokens"], 0)

    def test_abort(self):
        answers = []
        body = {"text": "Once", "rid": "to-abort",
                "sampling_params": {"max_new_tokens": 1800, "ignore_eos": True}}
        thread = threading.Thread(target=lambda: answers.append(self.generate(**body)))
        thread.start()
        time.sleep(0.2)
        self.assertEqual(self.post("/abort_request", {"rid": "to-abort"}).status_code, 200)
        thread.join()
        self.assertEqual(answers[0]["meta_info"]["finish_reason"]["type"], "abort")

    def test_wrong_bodies(self):
        for body in ({}, {"text": 5}, {"text": "a", "sampling_params": {"top_p": 2}},
                     {"input_ids": [10**9]}, {"text": "a", "sampling_params": {"regex": "("}}):
            reply = self.post("/generate", body)
            self.assertEqual(reply.status_code, 400)
            self.assertTrue(reply.json()["error"]["message"])
        reply = requests.post(URL + "/generate", data=b"{", timeout=30)
        self.assertEqual(reply.status_code, 400)


class InformationTest(ServerCase):
    def test_the_id_of_a_request_comes_back(self):
        body = {"text": "The", "sampling_params": {"max_new_tokens": 2}}
        for path, sent in [("/generate", body), ("/generate", {**body, "stream": True}), ("/v1/none", {})]:
            answer = self.post(path, sent, headers={"X-Request-Id": "mine-7"})
            self.assertEqual(answer.headers["x-request-id"], "mine-7", path)
        self.assertNotIn("x-request-id", self.post("/generate", body).headers)

    def test_health(self):
        self.assertEqual(self.get("/health").status_code, 200)
        self.assertEqual(self.get("/health_generate").status_code, 200)

    def test_information(self):
        for path in ("/get_model_info", "/model_info"):
            self.assertTrue(self.get(path).json()["is_generation"])
        for path in ("/get_server_info", "/server_info"):
            info = self.get(path).json()
            self.assertIn("model_path", info)
            self.assertIn("memory_usage", info["internal_states"][0])
            self.assertEqual(info["max_total_tokens"], info["max_total_num_tokens"])

    def test_waiting_clients_may_send_any_key(self):
        reply = self.get("/v1/models", headers={"Authorization": "Bearer None"})
        self.assertEqual(reply.status_code, 200)

    def test_tokenizing_messages(self):
        reply = self.post("/tokenize", {"messages": [{"role": "user", "content": "Hi"}]}).json()
        again = self.post("/tokenize", {"prompt": reply["prompt"],
                                        "add_special_tokens": False}).json()
        self.assertEqual(reply["tokens"], again["tokens"])
        self.assertEqual(reply["count"], len(reply["tokens"]))

    def test_chat_without_the_package(self):
        reply = self.post("/v1/chat/completions", {
            "model": "any", "messages": [{"role": "user", "content": "What is the capital of France?"}]})
        self.assertEqual(reply.status_code, 200)
        body = reply.json()
        self.assertEqual(body["model"], "any")
        self.assertEqual(body["metadata"]["weight_version"], "default")
        for field in ("finish_reason", "logprobs", "matched_stop", "message"):
            self.assertIn(field, body["choices"][0])

    def test_metrics(self):
        reply = self.get("/metrics")
        if reply.status_code == 404:
            self.skipTest("the server runs without --enable-metrics")
        self.assertIn("sglang:num_running_reqs", reply.text)


if __name__ == "__main__":
    unittest.main()
