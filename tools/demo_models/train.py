"""Trains the demo model on a CPU within a wall-clock budget.

Several single-threaded workers share the parameters and the gradients in shared memory. The micro-batches of a step
are handed out one by one, so that a worker whose core is taken by another program does less instead of holding up the
rest. Matrices are trained with Muon, embeddings and norms with AdamW. Progress is elapsed time over budget: learning
rate, data mixture and the end of training follow it, whatever the speed of the machine. Checkpoints go to --state;
the same command line resumes from there.

usage: train.py --model DIR --data DIR --state FILE --minutes 100 [--workers 4]
"""
import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

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
MUON_RATE, ADAM_RATE, WARM_UP, DECAY_FROM = 0.012, 0.0025, 0.02, 0.45


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


def schedule(progress: float) -> float:
    """Warm-up, a plateau, then a linear decay to nearly zero."""
    return min(1.0, progress / WARM_UP + 0.02, max(0.01, (1 - progress) / (1 - DECAY_FROM)))


def orthogonal(g):
    """Newton-Schulz iteration of Muon: the nearest (roughly) orthogonal matrix to g."""
    x = g.bfloat16()
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.T if tall else x).float()


class Optimizer:
    """Updates the parameters that one worker owns. State lives in shared tensors so that worker 0 can save it."""

    def __init__(self, params: dict, state: dict, owned: list):
        self.params, self.state, self.owned = params, state, owned

    @torch.no_grad()
    def step(self, grads: dict, rate: float, count: int):
        for name in self.owned:
            p, g, s = self.params[name], grads[name], self.state[name]
            if "v" not in s:
                s["m"].lerp_(g, 0.05)
                update = orthogonal(g.lerp(s["m"], 0.95)) * max(1, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - MUON_RATE * rate * 0.1).add_(update, alpha=-MUON_RATE * rate)
            else:
                s["m"].lerp_(g, 0.1)
                s["v"].lerp_(g * g, 0.02)
                m, v = s["m"] / (1 - 0.9**count), s["v"] / (1 - 0.98**count)
                p.addcdiv_(m, v.sqrt() + 1e-8, value=-ADAM_RATE * rate)


def optimizer_state(params: dict) -> dict:
    muon = lambda name, p: p.dim() == 2 and "embed" not in name
    return {n: {k: torch.zeros_like(p) for k in (("m",) if muon(n, p) else ("m", "v"))} for n, p in params.items()}


def owners(params: dict, workers: int) -> list:
    """Splits the parameters over the workers, the costly ones evenly."""
    load, split = [0] * workers, [[] for _ in range(workers)]
    for name, p in sorted(params.items(), key=lambda item: -item[1].numel()):
        least = load.index(min(load))
        load[least] += p.numel()
        split[least].append(name)
    return split


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


class Shared:
    """What the workers share: parameters, one gradient per worker, optimizer state, the counters of the run."""

    def __init__(self, model, workers: int, args):
        self.params = {n: p.detach().share_memory_() for n, p in model.named_parameters()}
        self.grads = [{n: torch.zeros_like(p).share_memory_() for n, p in self.params.items()} for _ in range(workers)]
        self.state = {n: {k: v.share_memory_() for k, v in s.items()} for n, s in optimizer_state(self.params).items()}
        self.barrier, self.next_micro = mp.Barrier(workers), mp.Value("q", 0)
        self.clock = torch.zeros(3, dtype=torch.float64).share_memory_()  # elapsed seconds, progress, steps
        self.loss = torch.zeros(workers).share_memory_()
        if args.state.exists():
            saved = torch.load(args.state)
            for n, p in self.params.items():
                p.copy_(saved["params"][n])
                for k, v in self.state[n].items():
                    v.copy_(saved["optimizer"][n][k])
            self.clock.copy_(saved["clock"])

    def save(self, path: Path):
        part = path.with_suffix(".part")
        torch.save({"params": self.params, "optimizer": self.state, "clock": self.clock}, part)
        part.rename(path)


def work(rank: int, shared: Shared, config: Config, args):
    if args.own_sessions:
        os.setsid()
    torch.set_num_threads(1)
    model = Llama(config)
    for name, p in model.named_parameters():
        p.data, p.grad = shared.params[name], shared.grads[rank][name]
    data, workers = Mixture(args.data), len(shared.grads)
    optimizer = Optimizer(shared.params, shared.state, owners(shared.params, workers)[rank])
    micros = STEP_TOKENS // MICRO_TOKENS
    begin, before = time.time(), shared.clock[0].item()
    last_saved, mean = time.time(), None
    while True:
        if rank == 0:
            shared.clock[0] = before + time.time() - begin
            shared.clock[1] = shared.clock[0] / (args.minutes * 60)
            shared.next_micro.value = 0
        shared.barrier.wait()
        elapsed, progress, step = shared.clock.tolist()
        if progress >= 1:
            break
        shared.loss[rank] = 0
        while True:
            with shared.next_micro.get_lock():
                micro = shared.next_micro.value
                shared.next_micro.value += 1
            if micro >= micros:
                break
            loss = weighted_loss(model, *data.batch(int(step), micro, progress))
            (loss / micros).backward()
            shared.loss[rank] += loss.item() / micros
        shared.barrier.wait()
        summed = {}
        for name in optimizer.owned:
            summed[name] = sum(g[name] for g in shared.grads)
            for g in shared.grads:
                g[name].zero_()
        optimizer.step(summed, schedule(progress), int(step) + 1)
        shared.barrier.wait()
        if rank == 0:
            shared.clock[2] += 1
            now = shared.loss.sum().item()
            mean = now if mean is None else 0.95 * mean + 0.05 * now
            if step % 20 == 0:
                print(f"step {int(step)} minutes {elapsed / 60:.1f} progress {progress:.3f} rate {schedule(progress):.3f} loss {mean:.3f}", flush=True)
            if time.time() - last_saved > args.save_every * 60:
                last_saved = time.time()
                shared.save(args.state)
                print("validation", json.dumps(validate(model, args.data, rows=2)), flush=True)
    if rank == 0:
        shared.save(args.state)
        print("final validation", json.dumps(validate(model, args.data, rows=32)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder with config.json")
    parser.add_argument("--data", type=Path, required=True, help="folder written by data.py")
    parser.add_argument("--state", type=Path, required=True, help="checkpoint file, outside the repository")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--own-sessions", action="store_true",
                        help="one session per worker: Linux shares a busy machine equally between sessions, not processes")
    parser.add_argument("--save-every", type=float, default=5, help="minutes between checkpoints")
    args = parser.parse_args()
    torch.manual_seed(1)
    config = Config.from_file(args.model / "config.json")
    shared = Shared(Llama(config), args.workers, args)
    mp.start_processes(work, (shared, config, args), nprocs=args.workers, start_method="fork")


if __name__ == "__main__":
    main()
