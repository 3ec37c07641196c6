"""Writes short conversations from the makers: tables of facts and rules turned into questions and answers.

`conversations(count, seed)` yields lists of (role, text). A conversation holds one to four exchanges and sometimes
opens with a system message.
"""
import random

import makers

SYSTEM = ("You are a helpful assistant.", "You are a helpful assistant.", "You are a friendly assistant. Answer in short sentences.",
          "Answer the question.", "You are a small and helpful language model.", "You are a polite teacher.", "Be brief.")


def conversation(rng):
    turns = []
    functions, shares = zip(*makers.MAKERS)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        turns += rng.choices(functions, shares)[0](rng)
    messages = [(("user", "assistant")[i % 2], text) for i, text in enumerate(turns)]
    return ([("system", rng.choice(SYSTEM))] if rng.random() < 0.15 else []) + messages


def conversations(count: int, seed: int):
    rng = random.Random(seed)
    for _ in range(count):
        yield conversation(rng)
