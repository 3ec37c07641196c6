"""Writes the token ids that the target uses most, most frequent first: an FR-Spec map, or the vocabulary of an EAGLE-3 head.

usage: python -m heads.token_frequency --target DIR --answers FILE --count 2048 --out ../../models/demo-frspec/freq.pt
"""
import argparse
import json
from pathlib import Path

import torch

from .answers import frequent_tokens, read_answers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--count", type=int, default=2048)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    answers, held_out = read_answers(args.answers, 1 << 30), read_answers(args.answers, 1 << 30, held_out=True)
    end = json.load(open(args.target / "config.json"))["eos_token_id"]
    ids = frequent_tokens(answers, args.count, always=[end])
    args.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save(ids, args.out)
    said = [token for answer in held_out for token in answer.tokens[answer.prompt :]]
    kept = set(ids)
    print(f"{len(ids)} tokens, {100 * sum(token in kept for token in said) / max(1, len(said)):.2f} % of the tokens of held-out answers")


if __name__ == "__main__":
    main()
