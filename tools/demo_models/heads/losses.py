"""Losses of draft models, and the figures that tell how much of a text they would have guessed."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from .modules import shift

DECAY = 0.8  # weight of a level relative to the level before it


@dataclass
class Lesson:
    """A batch seen through the target's eyes. `rows` marks the positions whose next token the target has chosen."""

    ids: torch.Tensor  # [rows, length]
    answered: torch.Tensor  # bool [rows, length - 1]
    features: object  # target.Features
    teacher: torch.Tensor  # [answered positions, vocab] float32

    @classmethod
    def make(cls, target, ids, answered, levels: int):
        answered = answered.clone()
        answered[:, : levels + 1] = False  # positions that a draft of full depth cannot have reached
        features = target.features(ids)
        return cls(ids, answered, features, target.probabilities(features.last[:, :-1][answered]))


def blend(teacher):
    """Half the target's distribution, half its first choice: what it says at temperature 0."""
    return 0.5 * teacher + 0.5 * F.one_hot(teacher.argmax(-1), teacher.shape[-1])


def cross_entropy(logits, aims):
    return -(aims * logits.float().log_softmax(-1)).sum(-1).mean()


def unrolled(head, target, lesson):
    """Yields per level (hidden of the rows before answered positions, outputs of the level [rows, length - 2, hidden])."""
    rope = target.rope(lesson.ids.shape[1] - 2)
    embedded = F.embedding(lesson.ids[:, 1:-1], target.embedding)
    feature, seen = head.first_feature(lesson.features)[:, :-2], []
    for _ in range(head.levels):
        hidden, out = head(embedded, feature, rope, seen)
        yield hidden[lesson.answered[:, 1:]], out
        feature = shift(out, 1, 1)


def head_loss(head, target, lesson, aims):
    draft_ids = getattr(head, "draft_ids", None)
    # What a small vocabulary lacks weighs nothing.
    return unrolled_loss(head, target, lesson, aims if draft_ids is None else aims[:, draft_ids])


def unrolled_loss(head, target, lesson, aims):
    """aims: over the tokens that the head has logits of."""
    loss, weight = 0.0, 1.0
    for hidden, out in unrolled(head, target, lesson):
        loss = loss + weight * cross_entropy(head.logits(hidden), aims)
        if head.regression:
            wanted = lesson.features.last[:, 1:-1][lesson.answered[:, 1:]]
            loss = loss + weight * head.regression * F.smooth_l1_loss(out[lesson.answered[:, 1:]].float(), wanted.float())
        weight *= DECAY
    return loss


def model_loss(model, lesson, aims):
    hidden = model.hidden_states(lesson.ids[:, :-1])[lesson.answered]
    return cross_entropy(F.linear(hidden, model.model.embed_tokens.weight), aims)


def guesses(logits, width: int, draft_ids=None):
    """[n, width] target ids, best first."""
    top = logits.topk(width, -1).indices
    return top if draft_ids is None else draft_ids[top]


@torch.no_grad()
def hits(draft, target, lesson, width: int) -> list:
    """Per level bool [rows, length - 1]: whether the token after a position is among the draft's first `width` guesses
    when the draft has followed the text since level 0. A model without features has one level."""
    result, said = [], lesson.ids[:, 1:][lesson.answered].unsqueeze(-1)
    if hasattr(draft, "levels"):
        found = (guesses(draft.logits(hidden), width, getattr(draft, "draft_ids", None)) for hidden, _ in unrolled(draft, target, lesson))
    else:
        hidden = draft.hidden_states(lesson.ids[:, :-1])[lesson.answered]
        found = [guesses(F.linear(hidden, draft.model.embed_tokens.weight), width)]
    for ids in found:
        level = torch.zeros_like(lesson.answered)
        level[lesson.answered] = (ids == said).any(-1)
        result.append(level)
    return result


def accept_length(levels: list, answered, steps: int) -> float:
    """Emitted tokens per verification if a draft is accepted while `levels` says so: exact for chains (width 1), an upper
    bound for trees."""
    tokens = rounds = 0
    for row in range(answered.shape[0]):
        positions = answered[row].nonzero().flatten().tolist()
        if not positions:
            continue
        at, end = positions[0], positions[-1]
        while at <= end:
            depth = 0
            while depth < steps and at + depth <= end and levels[min(depth, len(levels) - 1)][row, at + depth]:
                depth += 1
            emitted = min(depth + 1, end - at + 1)
            tokens, rounds, at = tokens + emitted, rounds + 1, at + emitted
    return tokens / max(1, rounds)
