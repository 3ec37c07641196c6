"""Runs the target once over its answers and keeps what heads learn from: taps, and its most probable next tokens.

Each micro-batch is one file, named after the tokens in it. So the step is resumable, answers may be added at any time, and training
reads what is there. Files are cheaper than a run of the target in every epoch: the target costs more than the head's training where
it is large, and the files are read at the speed of the disk. A token takes 6 bytes * hidden size, and 6 bytes * CHOICES.
"""
import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from .faults import Fault, need

torch = need("torch")
need("numpy")
need("safetensors")

from safetensors.torch import load_file, save_file

from heads.answers import Rows, as_rows, read_answers
from heads.losses import Lesson
from heads.modules import Eagle3

CHOICES = 32  # next tokens that are kept of each position
BLOCK = 256  # answers, in the order of the file, that are sorted by length together


@dataclass
class Micro:
    """One file: where it is, and the answers in it."""

    path: Path
    answers: list

    def read(self, device: str) -> Lesson:
        saved = load_file(self.path, device=device)
        # `teacher` holds the most probable tokens and their probabilities; training.aims_of() spreads them.
        features = SimpleNamespace(last=None, taps=[saved["taps"]])
        return Lesson(saved["ids"].long(), saved["answered"], features, (saved["choices"], saved["chances"]))


def name_of(answers: list) -> str:
    return hashlib.sha1(repr([(a.prompt, a.tokens) for a in answers]).encode()).hexdigest()[:16]


def micros_of(answers: list, folder: Path, tokens: int) -> list:
    blocks = (answers[i : i + BLOCK] for i in range(0, len(answers), BLOCK))
    return [Micro(folder / f"{name_of(rows)}.safetensors", rows) for block in blocks for rows in Rows(block, tokens).batches]


def plan(answers_file: Path, folder: Path, max_length: int, tokens: int):
    """-> micro-batches to train on, micro-batches of held-out greedy answers."""
    if not answers_file.exists():
        raise Fault(f"no answers at {answers_file}: run the step answers first")
    trained = read_answers(answers_file, max_length)
    held_out = [a for a in read_answers(answers_file, max_length, held_out=True) if a.temperature == 0]
    if not trained or not held_out:
        raise Fault(f"{answers_file} has {len(trained)} answers to train on and {len(held_out)} held out (every fiftieth prompt): "
                    "give more prompts")
    return micros_of(trained, folder, tokens), micros_of(held_out, folder, tokens)


def learnable(answered):
    """Without the positions that a draft of full depth cannot have reached."""
    answered = answered.clone()
    answered[:, : Eagle3.levels + 1] = False
    return answered


def write_micro(target, micro: Micro):
    ids, answered = as_rows(micro.answers)
    answered = learnable(answered)
    taps, logits = target.run(ids)
    logits = logits[:, :-1][answered.to(logits.device)].float()
    best, choices = logits.topk(min(CHOICES, logits.shape[-1]), -1)
    chances = (best - logits.logsumexp(-1, keepdim=True)).exp()
    tensors = {"ids": ids.int(), "answered": answered, "taps": taps.bfloat16(), "choices": choices.int(), "chances": chances.half()}
    part = micro.path.with_suffix(".part")
    save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, part)
    part.rename(micro.path)


def write_part(rank: int, target, micros: list, workers: int, max_bytes: float, say=print):
    """Every `workers`-th micro-batch. The first part speaks for all."""
    micros = micros[rank::workers]
    used = sum(m.path.stat().st_size for m in micros if m.path.exists())
    missing = [m for m in micros if not m.path.exists()]
    begin, tokens = time.time(), 0
    for number, micro in enumerate(missing, 1):
        if used * workers > max_bytes:
            left_out = len(missing) - number + 1
            say(f"the files have reached {max_bytes / 2**30:.1f} GiB: {left_out} of {len(micros)} micro-batches are left out", flush=True)
            return
        write_micro(target, micro)
        used, tokens = used + micro.path.stat().st_size, tokens + sum(len(a.tokens) for a in micro.answers)
        if rank == 0 and (number % 10 == 0 or number == len(missing)):
            pace = workers * tokens / (time.time() - begin)
            say(f"about {number * workers} of {len(missing) * workers} micro-batches, {pace:.0f} tokens per second, "
                f"{workers * used / 2**30:.2f} GiB", flush=True)


def write_all(target, micros: list, workers: int, max_bytes: float):
    """On a CPU by several processes of one thread each, which share the model; on a GPU by this one. The files together take no more
    than `max_bytes`, about."""
    if workers == 1:
        return write_part(0, target, micros, 1, max_bytes)
    torch.multiprocessing.start_processes(write_part, (target, micros, workers, max_bytes), nprocs=workers, start_method="fork")
