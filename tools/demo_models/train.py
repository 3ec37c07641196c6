"""Trains the demo model on a CPU within a wall-clock budget; parallel.py says how.

Learning rate, data mixture and the end of training follow the elapsed time. Checkpoints go to --state; the same command
line resumes from there.

usage: train.py --model DIR --data DIR --state FILE --minutes 100 [--workers 4]
"""
import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F

import parallel
from model import Config, Llama

STEP_TOKENS, MICRO_TOKENS = 8192, 1024
# Sources with their share of the tokens at the start, at 60 % and at the end of training.
MIXTURE = {
    "books": (0.40, 0.15, 0.02),
    "dialogues": (0.17, 0.10, 0.04),
    "trivia": (0.10, 0.06, 0.02),
    "problems": (0.05, 0.05, 0.03),
    "help": (0.03, 0.02, 0.01),
    "qa": (0.25, 0.62, 0.88),
}


class Source:
    """One source's documents as rows of a fixed length; every row begins with a document."""

    def __init__(self, path: Path):
        stored = np.load(path)
        self.tokens, self.weights, self.starts = stored["tokens"], stored["weights"], stored["starts"]

    def row(self, rng, length: int):
        """(tokens, weights), each [length + 1]: consecutive documents from a random one on, or a part of a long one."""
        first = rng.integers(len(self.starts) - 1)
        at, end = self.starts[first], self.starts[first + 1]
        if end - at > length + 1:
            at = rng.integers(at, end - length)
        at = max(0, min(at, len(self.tokens) - length - 1))
        return self.tokens[at : at + length + 1], self.weights[at : at + length + 1]


class Mixture:
    def __init__(self, folder: Path):
        self.sources = {name: Source(folder / f"{name}.train.npz") for name in MIXTURE}

    def batch(self, step: int, micro: int, progress: float):
        """Micro-batch of a step: (tokens, weights), each [rows, length + 1]; all of a step have the same length.

        A row of the longest kind is larger than a micro-batch, and such a step holds more tokens.
        """
        length = int(np.random.default_rng(step).choice((256, 512, 2048), p=(0.75, 0.2, 0.05)))
        rng = np.random.default_rng((step, micro))
        shares = np.array([np.interp(progress, (0, 0.6, 1), s) for s in MIXTURE.values()])
        names = rng.choice(list(self.sources), size=max(1, MICRO_TOKENS // length), p=shares / shares.sum())
        rows = [self.sources[name].row(rng, length) for name in names]
        return tuple(torch.from_numpy(np.stack([row[i] for row in rows]).astype(kind)) for i, kind in ((0, np.int64), (1, np.float32)))


def weighted_loss(model, ids, weights):
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids[:, :-1])
    losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").float()
    weights = weights[:, 1:].flatten() / 8
    return (losses * weights).sum() / weights.numel()


@torch.no_grad()
def validate(model, folder: Path, rows: int) -> dict:
    """Mean loss per source on held-out documents, over the tokens with full weight."""
    result = {}
    for name in MIXTURE:
        source, rng = Source(folder / f"{name}.valid.npz"), np.random.default_rng(5)
        if len(source.tokens) < 600:
            continue
        picked = [source.row(rng, 512) for _ in range(rows)]
        ids, weights = (torch.from_numpy(np.stack([row[i] for row in picked]).astype(np.int64)) for i in (0, 1))
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(ids[:, :-1]).float()
        losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        result[name] = round(losses[weights[:, 1:].flatten() == 8].mean().item(), 3)
    return result


class Pretraining(parallel.Task):
    micros = STEP_TOKENS // MICRO_TOKENS

    def __init__(self, model, folder: Path):
        self.model, self.folder, self.data = model, folder, Mixture(folder)

    def loss(self, step, micro, progress):
        return weighted_loss(self.model, *self.data.batch(step, micro, progress))

    def report(self, is_final):
        return json.dumps(validate(self.model, self.folder, rows=32 if is_final else 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder with config.json")
    parser.add_argument("--data", type=Path, required=True, help="folder written by data.py")
    parallel.add_arguments(parser)
    args = parser.parse_args()
    torch.manual_seed(1)
    model = Llama(Config.from_file(args.model / "config.json"))
    parallel.run(model, lambda shared: Pretraining(shared, args.data), parallel.settings_from(args))


if __name__ == "__main__":
    main()
