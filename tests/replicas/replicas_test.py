"""Two replicas behind a router: what comes through is what a replica says, and the end of one replica is not the end."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import signal
import time
import unittest

import replicas
import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("FORETOKEN_PROGRAM", str(ROOT / "build/release/foretoken"))
QUESTION = "List 3 countries and their capitals."
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"],
    "additionalProperties": False}}}
MOST_STREAMS = 20  # far more than one replica gets while another has none


def events(answer):
    """Of a stream, without the last one that only ends it."""
    for line in answer.iter_lines():
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            yield json.loads(line[6:])


def text_of(chunks):
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


class Behind:
    """The cases of every router."""

    router = None
    served_by = None  # the header that names the replica

    @classmethod
    def setUpClass(cls):
        cls.running = replicas.running(cls.router, BINARY, str(ROOT / "models/demo"),
                                       flags=["--served-model-name", replicas.NAME])
        cls.front, cls.replicas = cls.running.__enter__()
        cls.session = requests.Session()
        cls.session.headers["Authorization"] = f"Bearer {cls.front.key}"

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        cls.running.__exit__(None, None, None)

    def post(self, path, body, url=None, **options):
        return self.session.post((url or self.front.url) + path, json={"model": replicas.NAME, **body}, timeout=120,
                                 **options)

    def chat(self, content=QUESTION, url=None, stream=False, headers=None, **body):
        return self.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 32, "stream": stream,
            **body}, url, stream=stream, headers=headers)

    def test_answers_are_those_of_a_replica(self):
        direct = self.chat(url=self.replicas[0].url).json()["choices"][0]["message"]["content"]
        self.assertIn("Paris", direct)
        for _ in range(4):
            self.assertEqual(self.chat().json()["choices"][0]["message"]["content"], direct)
            self.assertEqual(text_of(events(self.chat(stream=True))), direct)

    def test_calls_of_tools_come_through(self):
        asked = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 80}
        whole = self.chat("What is the weather in Paris?", **asked).json()["choices"][0]["message"]["tool_calls"]
        self.assertEqual(whole[0]["function"]["name"], "get_weather")
        self.assertIn("city", json.loads(whole[0]["function"]["arguments"]))
        arguments = ""
        for chunk in events(self.chat("What is the weather in Paris?", stream=True, **asked)):
            for choice in chunk["choices"]:
                for call in choice["delta"].get("tool_calls") or []:
                    arguments += call["function"].get("arguments") or ""
        self.assertEqual(arguments, whole[0]["function"]["arguments"])

    def test_errors_come_through(self):
        answer = self.chat(temperature=-1)
        self.assertEqual(answer.status_code, 400)
        self.assertIn("temperature", answer.text)

    def test_when_a_replica_ends_the_other_goes_on(self):
        """Runs last of its class: one replica is killed. It stands still before, so that what is sent there waits.

        Which replica gets what, and whether a request that waited is sent again, is the router's choice.
        """

        def asked(number):
            # Texts that begin alike would go to one replica.
            return {"content": f"{number} {hashlib.sha512(bytes([number])).hexdigest()}", "max_tokens": 600,
                    "ignore_eos": True}

        def begin(number):
            stream = None
            with contextlib.suppress(requests.ConnectionError):
                stream = self.chat(stream=True, **asked(number))
            if stream is None or stream.status_code >= 500:
                return None, None, ()
            self.assertEqual(stream.status_code, 200)
            read = events(stream)
            return stream.headers[self.served_by].removesuffix("/v1"), next(read), read

        url, _, broken = begin(0)
        dead = next(replica for replica in self.replicas if replica.url == url)
        left = next(replica for replica in self.replicas if replica is not dead)
        dead.process.send_signal(signal.SIGSTOP)
        with concurrent.futures.ThreadPoolExecutor(MOST_STREAMS) as senders:
            streams = []
            while len(streams) < MOST_STREAMS and sum(stream.done() for stream in streams) < 2:
                streams.append(senders.submit(begin, len(streams) + 1))
                concurrent.futures.wait(streams[-1:], timeout=0.5)
            dead.kill()
        for number, stream in enumerate(streams, 1):
            url, first, read = stream.result()
            if url != left.url:
                continue
            direct = self.chat(url=left.url, **asked(number)).json()["choices"][0]
            self.assertEqual(text_of([first, *read]), direct["message"]["content"])
            self.assertEqual(direct["finish_reason"], "length")
        with contextlib.suppress(requests.RequestException):
            list(broken)
        for _ in range(6):
            answer = self.chat()
            self.assertEqual(answer.status_code, 200, answer.text)
            self.assertTrue(answer.headers[self.served_by].startswith(left.url))


class BehindSmg(Behind, unittest.TestCase):
    router = "smg"
    served_by = "x-smg-routed-worker-id"

    def test_it_knows_what_the_replicas_are(self):
        workers = self.session.get(self.front.url + "/workers", timeout=30).json()["workers"]
        self.assertEqual({worker["url"] for worker in workers}, {replica.url for replica in self.replicas})
        for worker in workers:
            self.assertEqual(worker["runtime_type"], "sglang")
            self.assertEqual(worker["models"][0]["context_length"], 2048)
            self.assertEqual(worker["models"][0]["architectures"], ["LlamaForCausalLM"])
        loads = []
        for _ in range(120):  # the router asks now and then
            loads = self.session.get(self.front.url + "/get_loads", timeout=30).json()["loads"]
            if len(loads) == 2:
                break
            time.sleep(0.5)
        self.assertEqual(len(loads), 2, loads)
        self.assertTrue(all(load["max_total_num_tokens"] > 0 for load in loads))
        metrics = self.session.get(self.front.url + "/engine_metrics", timeout=30).text
        for replica in self.replicas:
            self.assertRegex(metrics, rf'sglang:token_usage{{[^}}]*worker_addr="{replica.url}"')

    def test_the_id_of_a_request_is_kept(self):
        answer = self.chat(headers={"x-request-id": "mine-7"})
        self.assertEqual(answer.headers["x-request-id"], "mine-7")

    def test_texts_that_begin_alike_meet_their_cache(self):
        """Two long beginnings, by turns: each is computed once, however many replicas there are."""
        beginnings = ["You are a helpful cook. " + "Salt, pepper and bread. " * 30,
                      "You are a patient guide. " + "Rivers, hills and roads. " * 30]
        prompt = cached = 0
        for turn in range(8):
            for beginning in beginnings:
                usage = self.chat(f"{beginning} {turn}", max_tokens=1).json()["usage"]
                prompt += usage["prompt_tokens"]
                cached += (usage["prompt_tokens_details"] or {}).get("cached_tokens", 0)
        self.assertGreater(cached / prompt, 0.8, f"{cached} of {prompt} tokens were cached")


class BehindLiteLlm(Behind, unittest.TestCase):
    router = "litellm"
    served_by = "x-litellm-model-api-base"

    def test_other_interfaces_come_through(self):
        message = self.post("/v1/messages", {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 32,
                                             "temperature": 0}).json()
        self.assertIn("Paris", message["content"][0]["text"])
        response = self.post("/v1/responses", {"input": QUESTION, "max_output_tokens": 32, "temperature": 0}).json()
        self.assertIn("Paris", response["output"][0]["content"][0]["text"])
        self.assertEqual(len(self.post("/v1/embeddings", {"input": ["a", "b"]}).json()["data"]), 2)


if __name__ == "__main__":
    unittest.main()
