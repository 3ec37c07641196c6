"""The openai package: chat, completions, streams, logprobs, n, stop, seed, errors."""

import concurrent.futures
import unittest

import openai

from server import URL, ServerCase


class ChatTest(ServerCase):
    def test_whole_answer(self):
        answer = self.chat()
        self.assertEqual(answer.object, "chat.completion")
        choice = answer.choices[0]
        self.assertTrue(choice.message.content.strip())
        self.assertEqual(choice.message.role, "assistant")
        self.assertIn(choice.finish_reason, ("stop", "length"))
        usage = answer.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertTrue(0 < usage.completion_tokens <= 64)

    def test_greedy_answers_repeat(self):
        self.assertEqual(self.chat().choices[0].message.content,
                         self.chat().choices[0].message.content)

    def test_stream_joins_to_the_whole_answer(self):
        whole = self.chat()
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
        self.assertEqual([r for r in reasons if r], [whole.choices[0].finish_reason])

    def test_logprobs(self):
        answer = self.chat(logprobs=True, top_logprobs=3, max_tokens=8)
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), answer.usage.completion_tokens)
        for token in content:
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(len(token.top_logprobs), 3)
            # Greedy: the token is its own best alternative.
            self.assertEqual(token.top_logprobs[0].token, token.token)
        text = b"".join(bytes(t.bytes) for t in content).decode(errors="replace")
        self.assertTrue(text.startswith(answer.choices[0].message.content))

    def test_three_choices(self):
        answer = self.chat(n=3, temperature=1.0, seed=5, max_tokens=24)
        self.assertEqual([c.index for c in answer.choices], [0, 1, 2])
        self.assertGreater(len({c.message.content for c in answer.choices}), 1)
        one = self.chat(n=1, temperature=1.0, seed=5, max_tokens=24)
        self.assertEqual(one.choices[0].message.content, answer.choices[0].message.content)

    def test_three_streamed_choices(self):
        texts = {}
        for chunk in self.chat(n=3, temperature=1.0, seed=5, max_tokens=24, stream=True):
            for choice in chunk.choices:
                texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
        whole = self.chat(n=3, temperature=1.0, seed=5, max_tokens=24)
        self.assertEqual([texts[i] for i in range(3)], [c.message.content for c in whole.choices])

    def test_seed_repeats(self):
        first, second, other = (
            self.chat(temperature=1.0, seed=s, max_tokens=32).choices[0].message.content
            for s in (11, 11, 12))
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_stop_string(self):
        whole = self.chat().choices[0].message.content
        stop = whole[len(whole) // 2:][:4]
        cut = self.chat(stop=[stop])
        self.assertEqual(cut.choices[0].finish_reason, "stop")
        self.assertEqual(cut.choices[0].matched_stop, stop)
        self.assertEqual(cut.choices[0].message.content, whole[:whole.index(stop)])
        streamed = "".join(c.choices[0].delta.content or "" for c in self.chat(stop=stop, stream=True))
        self.assertEqual(streamed, whole[:whole.index(stop)])

    def test_length_limit(self):
        answer = self.chat(max_tokens=3)
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertIsNone(answer.choices[0].matched_stop)
        self.assertEqual(answer.usage.completion_tokens, 3)

    def test_extra_fields(self):
        answer = self.chat(extra_body={"top_k": 1, "min_p": 0.1, "ignore_eos": True, "rid": "mine"},
                           temperature=1.0, max_tokens=5)
        self.assertEqual(answer.id, "mine")
        self.assertEqual(answer.usage.completion_tokens, 5)

    def test_logit_bias(self):
        first = self.chat(max_tokens=1, logprobs=True, top_logprobs=2).choices[0]
        ids = self.post("/tokenize", {"prompt": first.logprobs.content[0].token,
                                      "add_special_tokens": False}).json()["tokens"]
        barred = self.chat(max_tokens=1, logit_bias={str(ids[0]): -100}).choices[0]
        self.assertNotEqual(barred.message.content, first.message.content)

    def test_errors_have_their_types(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(temperature=-1)
        self.assertIn("temperature must be", caught.exception.message)
        with self.assertRaises(openai.BadRequestError):
            self.chat(response_format={"type": "xml"})
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat("word " * 200000)
        self.assertIn("context length", caught.exception.message)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("no/such-model")
        self.assertEqual(self.client.models.retrieve(self.model).id, self.model)

    def test_many_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: self.chat(max_tokens=16), range(32)))
        self.assertEqual(len({a.choices[0].message.content for a in answers}), 1)

    def test_leaving_a_stream_early(self):
        for _ in range(4):
            stream = self.chat(stream=True, max_tokens=1000, extra_body={"ignore_eos": True})
            next(iter(stream))
            stream.close()
        self.assertTrue(self.chat().choices[0].message.content)


class AsyncChatTest(ServerCase):
    def test_async_streams(self):
        import asyncio

        async def one(client):
            stream = await client.chat.completions.create(
                model=self.model, messages=[{"role": "user", "content": "Hello"}], temperature=0,
                max_tokens=16, stream=True)
            return "".join([c.choices[0].delta.content or "" async for c in stream])

        async def all_of_them():
            async with openai.AsyncOpenAI(base_url=URL + "/v1", api_key="None") as client:
                return await asyncio.gather(*(one(client) for _ in range(16)))

        self.assertEqual(len(set(asyncio.run(all_of_them()))), 1)


class CompletionTest(ServerCase):
    def complete(self, prompt="The capital of France is", **kwargs):
        kwargs.setdefault("temperature", 0)
        return self.client.completions.create(model=self.model, prompt=prompt, **kwargs)

    def test_default_length_is_sixteen(self):
        answer = self.complete(extra_body={"ignore_eos": True})
        self.assertEqual(answer.usage.completion_tokens, 16)
        self.assertEqual(answer.choices[0].finish_reason, "length")

    def test_prompt_forms_agree(self):
        text = "The capital of France is"
        ids = self.post("/tokenize", {"prompt": text}).json()["tokens"]
        whole = self.complete(text).choices[0].text
        self.assertEqual(self.complete(ids).choices[0].text, whole)
        self.assertEqual([c.text for c in self.complete([text, text]).choices], [whole, whole])
        self.assertEqual([c.text for c in self.complete([ids, ids]).choices], [whole, whole])

    def test_echo_with_logprobs(self):
        text = "The capital of France is"
        answer = self.complete(text, echo=True, logprobs=2, max_tokens=4)
        choice = answer.choices[0]
        self.assertTrue(choice.text.startswith(text))
        lists = choice.logprobs
        count = answer.usage.prompt_tokens + answer.usage.completion_tokens
        for values in (lists.tokens, lists.token_logprobs, lists.top_logprobs, lists.text_offset):
            self.assertEqual(len(values), count)
        self.assertIsNone(lists.token_logprobs[0])
        self.assertTrue(all(x <= 0 for x in lists.token_logprobs[1:]))

    def test_stream(self):
        whole = self.complete(max_tokens=24).choices[0].text
        chunks = self.complete(max_tokens=24, stream=True)
        self.assertEqual("".join(c.choices[0].text for c in chunks), whole)

    def test_suffix_is_refused(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete(suffix="x")
        self.assertIn("suffix", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
