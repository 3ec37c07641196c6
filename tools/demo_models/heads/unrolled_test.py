"""Unrolled levels equal a draft made row by row: a path's features put in place of the target's, and one plain pass.

usage: python -m heads.unrolled_test
"""
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from model import Config, Llama

from .modules import Eagle, Eagle3, Mtp, shift

CONFIG = Config(vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=2,
                head_dim=8, max_position_embeddings=64)


def randomize(module):
    for p in module.parameters():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=0.2)
    return module


def largest_difference(head, embedded, feature, rope) -> float:
    """Between the levels of one unrolled pass and the same levels computed one path at a time."""
    first, seen, outputs, worst = feature, [], [], 0.0
    for level in range(4):
        outputs.append(head(embedded, feature, rope, seen)[1])
        feature = shift(outputs[-1], 1, 1)
    for row in range(4, embedded.shape[1]):
        for level in range(1, 4):
            path = first.clone()
            for i in range(1, level + 1):  # what this draft's rows read: the output of the level before, one row earlier
                path[:, row - level + i] = outputs[i - 1][:, row - level + i - 1]
            expected = head(embedded, path, rope, [])[1][:, row]
            worst = max(worst, ((expected - outputs[level][:, row]).norm() / expected.norm()).item())
    return worst


@torch.no_grad()
def main():
    torch.manual_seed(3)
    model = randomize(Llama(CONFIG))
    target = SimpleNamespace(config=CONFIG, embedding=model.model.embed_tokens.weight, taps=(1, 2, 4))
    ids = torch.randint(0, CONFIG.vocab_size, (2, 14))
    last, taps = model.hidden_states(ids, taps=target.taps)
    features = SimpleNamespace(last=last, taps=taps)
    rows = ids.shape[1] - 2
    embedded, rope = F.embedding(ids[:, 1:-1], target.embedding), (model.cos[:rows], model.sin[:rows])
    for head in (Eagle(target), Eagle3(target, torch.arange(20)), Mtp(target)):
        difference = largest_difference(randomize(head), embedded, head.first_feature(features)[:, :-2], rope)
        print(type(head).__name__, difference)
        assert difference < 1e-4, "an unrolled level differs from the draft that it stands for"


if __name__ == "__main__":
    main()
