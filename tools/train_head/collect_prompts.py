#!/usr/bin/env python3
"""Collects prompts of many kinds for train_head.py: requests from templates, Python functions to complete, questions of corpora.

usage: collect_prompts.py --corpora DIR --out FILE --count 8000
"""
import argparse
import json
import random
from itertools import islice
from pathlib import Path

import recipe  # finds the demo's modules
from recipe.functions import function_prompts
from heads import prompts as demo_prompts
import data

# Share of the prompts by source.
SHARES = {"open": 0.50, "functions": 0.24, "problems": 0.08, "trivia": 0.06, "help": 0.07, "dialogues": 0.05}
SECOND_TURNS = 0.12  # of the open requests


def user_turns(conversations):
    """The first turn of the user of each."""
    return ({"turns": [turns[0][1]]} for turns in conversations)


def open_requests(conversations, rng):
    for turns in conversations:
        follow_up = [rng.choice(demo_prompts.FOLLOW_UPS)] if rng.random() < SECOND_TURNS else []
        yield {"turns": [turns[0][1], *follow_up]}


def sources(corpora: Path, rng) -> dict:
    shuffled = lambda items: iter(rng.sample(items := list(items), len(items)))
    pairs = lambda items: (data.roles(turns) for turns in shuffled(items))
    templates = demo_prompts.OpenPrompts(Path(demo_prompts.__file__).parent / "open_prompts.txt")
    return {
        "open": open_requests(templates.conversations(rng), rng),
        "functions": function_prompts(rng),
        "problems": user_turns(pairs(data.word_problems(corpora))),
        "trivia": user_turns(pairs(data.trivia(corpora, rng))),
        "help": user_turns(pairs(data.help_pages(corpora, rng))),
        "dialogues": user_turns(pairs(data.dialogues(corpora))),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True, help="folder with the corpora of tools/demo_models/README.md")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    taken = {name: islice(items, int(args.count * SHARES[name])) for name, items in sources(args.corpora, rng).items()}
    lines = [json.dumps(item) for items in taken.values() for item in items]
    lines = list(dict.fromkeys(lines))
    rng.shuffle(lines)
    args.out.write_text("".join(line + "\n" for line in lines))
    print(len(lines), "prompts")


if __name__ == "__main__":
    main()
