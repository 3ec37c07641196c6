"""Trains an EAGLE-3 head on the files of taps. The same arguments go on from the state file."""
import json
from pathlib import Path
from types import SimpleNamespace

from .faults import Fault, need

torch = need("torch")
np = need("numpy")

import parallel
from heads import losses
from heads.modules import Eagle3

STEPS = 4  # of the chain whose accept length is printed
# The first part of the training unrolls fewer levels: guesses without depth come first, and cost half.
SHALLOW_LEVELS, SHALLOW_UNTIL = 2, 0.35
SHORT_REPORT, LONG_REPORT = 12, 60  # micro-batches


def make_head(base, draft_ids: list) -> Eagle3:
    device = base.embedding.device
    head = Eagle3(SimpleNamespace(config=base.config, taps=base.taps, embedding=base.output.cpu()), torch.tensor(draft_ids)).to(device)
    head.draft_ids = head.draft_ids.to(device)
    return head


def load_head(base, draft_ids: list, state: Path) -> Eagle3:
    if not state.exists():
        raise Fault(f"no state at {state}: run the step train first")
    head = make_head(base, draft_ids)
    head.load_state_dict(torch.load(state, map_location=base.embedding.device)["params"])
    return head


class HeadTask(parallel.Task):
    def __init__(self, head: Eagle3, base, trained: list, held_out: list, micros: int):
        self.head, self.base, self.trained, self.held_out, self.micros = head, base, trained, held_out, micros
        self.device = base.embedding.device
        # Place of a token in the draft vocabulary; tokens that it lacks share the last place, which is cut off.
        self.places = torch.full((base.config.vocab_size,), len(head.draft_ids), device=self.device)
        self.places[head.draft_ids] = torch.arange(len(head.draft_ids), device=self.device)

    def autocast(self):
        return torch.autocast(self.device.type, torch.bfloat16)

    def aims(self, lesson):
        """losses.blend() of the target's most probable tokens, over the draft vocabulary."""
        choices, chances = lesson.teacher
        weights = 0.5 * chances.float()
        weights[:, 0] += 0.5  # choices come by falling probability
        spread = torch.zeros(len(choices), len(self.head.draft_ids) + 1, device=self.device)
        return spread.scatter_add_(1, self.places[choices.long()], weights)[:, :-1]

    def lesson(self, micros: list, number: int):
        """Every epoch in another order."""
        epoch, index = divmod(number, len(micros))
        return micros[np.random.default_rng(epoch).permutation(len(micros))[index]].read(str(self.device))

    def loss(self, step, micro, progress):
        lesson = self.lesson(self.trained, step * self.micros + micro)
        self.head.levels = SHALLOW_LEVELS if progress < SHALLOW_UNTIL else Eagle3.levels
        with self.autocast():
            if not lesson.answered.any():
                return sum(p.sum() for p in self.head.parameters()) * 0
            return losses.unrolled_loss(self.head, self.base, lesson, self.aims(lesson))

    def accept_length(self, count: int) -> float:
        """Of greedy chains on held-out greedy answers, as the server would have."""
        self.head.levels, lengths = Eagle3.levels, []
        for micro in self.held_out[:count]:
            lesson = micro.read(str(self.device))
            with self.autocast():
                hits = losses.hits(self.head, self.base, lesson, 1)
            lengths.append((losses.accept_length([h.cpu() for h in hits], lesson.answered.cpu(), STEPS), len(lesson.ids)))
        return sum(length * rows for length, rows in lengths) / sum(rows for _, rows in lengths)

    def report(self, is_final):
        return json.dumps({f"accept length of chains of {STEPS}": round(self.accept_length(LONG_REPORT if is_final else SHORT_REPORT), 3)})


def written(micros: list, what: str) -> list:
    there = [m for m in micros if m.path.exists()]
    if not there:
        raise Fault(f"no taps of {what}: run the step taps first")
    return there


def train(head, base, micros: tuple, step_tokens: int, micro_tokens: int, settings: parallel.Settings, say=print):
    trained, held_out = written(micros[0], "answers to train on"), written(micros[1], "held-out answers")
    # Held-out micro-batches are sorted by length within their block; a report reads all lengths.
    held_out = [held_out[i] for i in np.random.default_rng(0).permutation(len(held_out))]
    tokens, held_answers = sum(len(a.tokens) for m in trained for a in m.answers), sum(len(m.answers) for m in held_out)
    say(f"{sum(p.numel() for p in head.parameters())} parameters, {len(trained)} micro-batches with {tokens} tokens, "
        f"{held_answers} answers held out", flush=True)
    count = max(1, step_tokens // micro_tokens)
    parallel.run(head, lambda model: HeadTask(model, base, trained, held_out, count), settings)
