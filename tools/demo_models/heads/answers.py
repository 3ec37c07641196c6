"""The target's own answers as training rows: one conversation per row, rows of similar length together."""
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

# Every fiftieth prompt is held out.
HELD_OUT = 50


@dataclass
class Answer:
    tokens: list
    prompt: int  # how many of them are the prompt
    temperature: float


def read_answers(path: Path, max_length: int, held_out: bool = False) -> list:
    answers = []
    with path.open() as lines:
        for line in lines:
            if not line.endswith("\n"):
                break  # still being written
            item = json.loads(line)
            if (item["prompt_number"] % HELD_OUT == 0) == held_out and len(item["answer"]) > 1 and len(item["prompt"]) + 1 < max_length:
                answers.append(Answer((item["prompt"] + item["answer"])[:max_length], len(item["prompt"]), item["temperature"]))
    return answers


def frequent_tokens(answers, count: int, always=()) -> list:
    """Token ids by falling frequency in the answers, ties by id; `always` are first, unseen ids fill up the rest."""
    counts = Counter(token for answer in answers for token in answer.tokens[answer.prompt :])
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    ids = list(dict.fromkeys([*always, *ranked, *range(count)]))
    return ids[:count]


def as_rows(answers: list):
    """(ids [rows, length], answered [rows, length - 1]: whether the model said the token after this one)."""
    length = max(len(a.tokens) for a in answers)
    ids, answered = torch.zeros(len(answers), length, dtype=torch.long), torch.zeros(len(answers), length - 1, dtype=torch.bool)
    for row, a in enumerate(answers):
        ids[row, : len(a.tokens)] = torch.tensor(a.tokens)
        answered[row, a.prompt - 1 : len(a.tokens) - 1] = True
    return ids, answered


class Rows:
    """Micro-batches of about `tokens` tokens; every epoch in another order."""

    def __init__(self, answers: list, tokens: int):
        ordered, self.batches, first = sorted(answers, key=lambda a: len(a.tokens)), [], 0
        for i, answer in enumerate(ordered):
            if first < i and (i - first + 1) * len(answer.tokens) > tokens:
                self.batches.append(ordered[first:i])
                first = i
        self.batches.append(ordered[first:])

    def batch(self, number: int):
        """as_rows() of a micro-batch."""
        epoch, index = divmod(number, len(self.batches))
        chosen = self.batches[np.random.default_rng(epoch).permutation(len(self.batches))[index]]
        return as_rows(chosen)
