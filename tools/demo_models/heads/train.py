"""Trains draft models and heads on the target's own answers. The target runs once per batch for all of them.

usage: python -m heads.train --target DIR --answers FILE --draft-vocab FILE --state FILE --minutes 40 [--heads draft eagle eagle3 mtp]
"""
import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import nn

import parallel
from . import losses
from .answers import Rows, read_answers
from .draft import make_draft
from .modules import Eagle, Eagle3, Mtp
from .target import Target

KINDS = ("draft", "eagle", "eagle3", "mtp")
# For the figures while training: (steps, topk) as users run them.
SHAPES = {"draft": (4, 1), "eagle": (5, 4), "eagle3": (5, 4), "mtp": (1, 1)}


def make_heads(target: Target, kinds, draft_vocab: Path | None, draft_start: Path | None = None) -> nn.ModuleDict:
    """In the order of KINDS, whatever the order of `kinds`. draft_vocab: file with EAGLE-3's token ids; draft_start: state of
    train.py that the draft model starts from."""
    draft_ids = torch.tensor(sorted(torch.load(draft_vocab))) if "eagle3" in kinds else None
    makers = {"draft": lambda t: make_draft(t, draft_start), "eagle": Eagle, "eagle3": lambda t: Eagle3(t, draft_ids), "mtp": Mtp}
    return nn.ModuleDict({kind: makers[kind](target) for kind in KINDS if kind in kinds})


class HeadTask(parallel.Task):
    def __init__(self, heads: nn.ModuleDict, target: Target, rows: Rows, held_out: Rows, micros: int):
        self.heads, self.target, self.rows, self.held_out, self.micros = heads, target, rows, held_out, micros
        self.levels = max((getattr(head, "levels", 1) for head in heads.values()))

    def lesson(self, rows: Rows, number: int) -> losses.Lesson:
        return losses.Lesson.make(self.target, *rows.batch(number), self.levels)

    def loss(self, step, micro, progress):
        with torch.autocast("cpu", torch.bfloat16):
            lesson = self.lesson(self.rows, step * self.micros + micro)
            if len(lesson.teacher) == 0:
                return sum(p.sum() for p in self.heads.parameters()) * 0
            aims = losses.blend(lesson.teacher)
            return sum(losses.head_loss(head, self.target, lesson, aims) if hasattr(head, "levels")
                       else losses.model_loss(head, lesson, aims) for head in self.heads.values())

    def report(self, is_final):
        """Accept lengths on held-out greedy answers: along a chain (exact), and if the first topk guesses all count."""
        count, figures = min(len(self.held_out.batches), 40 if is_final else 8), {}
        with torch.autocast("cpu", torch.bfloat16):
            lessons = [self.lesson(self.held_out, number) for number in range(count)]
            for kind, head in self.heads.items():
                steps, topk = SHAPES[kind]
                for width in sorted({1, topk}):
                    lengths = [losses.accept_length(losses.hits(head, self.target, lesson, width), lesson.answered, steps) for lesson in lessons]
                    figures[f"{kind} {steps}/{width}"] = round(sum(lengths) / len(lengths), 2)
        return json.dumps(figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True, help="the target's checkpoint folder")
    parser.add_argument("--answers", type=Path, required=True, help="file written by generate_answers.py")
    parser.add_argument("--heads", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--draft-vocab", type=Path, help="file with the ids of EAGLE-3's vocabulary, written by token_frequency.py")
    parser.add_argument("--draft-start", type=Path, help="state of train.py that the draft model starts from")
    parser.add_argument("--max-length", type=int, default=768, help="longer conversations are cut")
    parser.add_argument("--step-tokens", type=int, default=4096)
    parser.add_argument("--micro-tokens", type=int, default=512)
    parser.add_argument("--adam-rate", type=float, default=0.001, help="learning rate of embeddings, output matrices and norms")
    parallel.add_arguments(parser)
    args = parser.parse_args()
    torch.manual_seed(1)
    target = Target(args.target)
    answers = read_answers(args.answers, args.max_length)
    greedy = [a for a in read_answers(args.answers, args.max_length, held_out=True) if a.temperature == 0]
    heads = make_heads(target, args.heads, args.draft_vocab, args.draft_start)
    print({kind: sum(p.numel() for p in head.parameters()) for kind, head in heads.items()}, len(answers), "answers,",
          sum(len(a.tokens) for a in answers), "tokens,", len(greedy), "held out", flush=True)
    micros, rows, held_out = args.step_tokens // args.micro_tokens, Rows(answers, args.micro_tokens), Rows(greedy, args.micro_tokens)
    parallel.run(heads, lambda model: HeadTask(model, target, rows, held_out, micros),
                 parallel.settings_from(args, muon_rate=0.02, adam_rate=args.adam_rate, decay_from=0.4))


if __name__ == "__main__":
    main()
