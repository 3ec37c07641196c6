"""Clients that behave: chats, completions, batches and scored prompts, streamed or whole.

All requests come from a fixed list with fixed seeds, so each has one right answer, whatever runs beside
it: the first answer is remembered, and any later one that differs is a fault. What they wish of drafts, and
what they predict, differs from time to time and must not show.
"""
import json
import random

QUESTIONS = [
    "List 3 countries and their capitals.", "What is the capital of France?", "Count from 1 to 20.",
    "Write a Python function that adds two numbers.", "Tell me a short story about a fox.",
    "What is 17 plus 25?", "Name the days of the week.", "Explain why the sky is blue.",
    "Write a haiku about rain.", "Which animals can fly?", "What is the opposite of hot?",
    "Give me advice for a job interview.",
]


# Of drafts: any answer is the same with them.
WISHES = [{"enabled": False}, {"max_nodes": 3}, {"drafters": []}, {}]


def wishful(rng, path, body):
    body = dict(body)
    if rng.random() < 0.3:
        body["speculative"] = rng.choice(WISHES)
    if path == "/v1/chat/completions" and rng.random() < 0.3:
        body["prediction"] = {"type": "content", "content": rng.choice(QUESTIONS)}
    return body


def all_requests():
    """(path, body) of each."""
    rng = random.Random(8)
    requests = []
    for i, question in enumerate(QUESTIONS):
        chat = {"messages": [{"role": "user", "content": question}], "seed": i}
        requests.append(("/v1/chat/completions", {**chat, "temperature": 0, "max_tokens": 48}))
        requests.append(("/v1/chat/completions", {**chat, "temperature": 1.0, "top_p": 0.9,
                                                  "max_tokens": 48, "n": 2}))
        requests.append(("/v1/completions", {"prompt": question, "seed": i, "temperature": 0.7,
                                             "max_tokens": rng.randint(1, 80), "ignore_eos": True,
                                             "stop": ["zzz", "\n\n\n"]}))
        requests.append(("/generate", {"text": question * rng.randint(1, 6), "return_logprob": True,
                                       "logprob_start_len": 0, "top_logprobs_num": 2,
                                       "sampling_params": {"temperature": 0.8, "sampling_seed": i,
                                                           "frequency_penalty": 0.3,
                                                           "max_new_tokens": rng.randint(1, 60)}}))
    return requests


def pieces_of(path, payload):
    """What an answer or an event says: {choice: text}, without ids and times."""
    value = json.loads(payload)
    if path == "/generate":
        scores = value.get("meta_info", {}).get("output_token_logprobs")
        return {0: (value["text"], scores)}
    pieces = {}
    for choice in value["choices"]:
        part = choice.get("message") or choice.get("delta") or {"content": choice.get("text")}
        pieces[choice["index"]] = part.get("content") or ""
    return pieces


class Honest:
    def __init__(self, server, tally, answers):
        self.server, self.tally, self.answers = server, tally, answers
        self.requests = all_requests()

    async def one(self, rng):
        number = rng.randrange(len(self.requests))
        path, body = self.requests[number]
        body = wishful(rng, path, body)
        if rng.random() < 0.7:
            status, answer = await self.streamed(path, body)
        else:
            status, text = await self.server.post(path, body)
            answer = pieces_of(path, text) if status == 200 else text
        if status in (429, 503):
            self.tally.count("busy")
        elif status != 200:
            self.tally.fault(f"an honest request got {status}: {answer}")
        elif self.answers.setdefault(number, answer) != answer:
            self.tally.fault(f"request {number} was answered differently: {answer} "
                             f"instead of {self.answers[number]}")
        else:
            self.tally.count("honest")

    async def streamed(self, path, body):
        said, times, refusal = {}, [], []

        def on_event(seconds, payload):
            try:
                pieces = pieces_of(path, payload)
            except (ValueError, KeyError, TypeError):
                refusal.append(payload)
                return
            if any(pieces.values()):
                times.append(seconds)
            for index, piece in pieces.items():
                # /generate repeats the whole text in every event, the other routes send what is new.
                said[index] = piece if path == "/generate" else said.get(index, "") + piece

        status = await self.server.events(path, body, on_event)
        if refusal:
            return (status if status != 200 else 500), str(refusal[0])
        if times:
            self.tally.latency(times)
        return status, said
