"""Lets a running server answer prompts and stores prompts and answers as token ids; started again, it goes on.

Some prompts are answered greedily, the others sampled at several temperatures, so that a head also learns what follows
when the text has taken an unlikely turn. Some answers are asked about in a second turn.
usage: python -m heads.generate_answers --url http://127.0.0.1:30000 --prompts FILE --out FILE
"""
import argparse
import json
import random
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .answer_file import TEMPERATURES, finished
from .prompts import FOLLOW_UPS


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


class Asker:
    def __init__(self, args):
        self.url, self.max_new_tokens = args.url, args.max_new_tokens
        self.follow_ups = [self.user_turn(text) for text in FOLLOW_UPS]

    def user_turn(self, text: str) -> list:
        """Tokens of a user's turn in the middle of a conversation."""
        turn = f"<|user|>{text}<|end|><|assistant|>"
        return post(f"{self.url}/tokenize", {"prompt": turn, "add_special_tokens": False})["tokens"]

    def answer(self, prompt: list, temperature: float, seed: int) -> list:
        sampling = {"temperature": temperature, "max_new_tokens": self.max_new_tokens, "sampling_seed": seed}
        return post(f"{self.url}/generate", {"input_ids": prompt, "sampling_params": sampling})["output_ids"]

    def __call__(self, number: int, prompt: list) -> list:
        rng = random.Random(number)
        temperature = rng.choice(TEMPERATURES)
        turns = [{"prompt": prompt}]
        turns[0]["answer"] = self.answer(prompt, temperature, number)
        if rng.random() < 0.15:
            second = prompt + turns[0]["answer"] + rng.choice(self.follow_ups)
            turns.append({"prompt": second, "answer": self.answer(second, temperature, number)})
        return [{"prompt_number": number, "temperature": temperature, **turn} for turn in turns]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:30000")
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--max-new-tokens", type=int, default=320)
    parser.add_argument("--at-once", type=int, default=64, help="requests in flight")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    args = parser.parse_args()
    asker, done, begin, tokens = Asker(args), finished(args.out), time.time(), 0
    prompts = [(i, json.loads(line)["prompt"]) for i, line in enumerate(open(args.prompts)) if i not in done]

    with open(args.out, "a") as out, ThreadPoolExecutor(args.at_once) as pool:
        for count, turns in enumerate(pool.map(lambda item: asker(*item), prompts), 1):
            for turn in turns:
                out.write(json.dumps(turn, separators=(",", ":")) + "\n")
                tokens += len(turn["answer"])
            if count % 500 == 0:
                print(f"{len(done) + count} prompts, {tokens} new tokens, {tokens / (time.time() - begin):.0f} per second", flush=True)
            if time.time() - begin > args.minutes * 60:
                pool.shutdown(cancel_futures=True)
                break


if __name__ == "__main__":
    main()
