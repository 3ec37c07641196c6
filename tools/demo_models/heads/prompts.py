"""Collects prompts that the target shall answer: questions like those of its training, and open-ended ones.

A head learns to guess what the target says; so it needs the target's answers to whatever users will ask, and answers of
others teach it little. One line per prompt: {"prompt": [token ids]}.
usage: python -m heads.prompts --corpora DIR --target DIR --out FILE --count 20000
"""
import argparse
import json
import random
import re
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

import data
import qa_pairs

# Share of the prompts by source.
SHARES = {"open": 0.5, "qa": 0.25, "trivia": 0.1, "dialogues": 0.05, "problems": 0.07, "help": 0.03}
FOLLOW_UPS = ("Rewrite your answer in a shorter form.", "Can you explain that in simpler words?", "Give me another example.", "Why?",
              "Now write it as a list.", "Make it longer.", "Are you sure?", "What else should I know?", "Turn it into a poem.",
              "Answer again in one sentence.", "Add a title.", "What would you change?")


class OpenPrompts:
    def __init__(self, path: Path):
        self.items, self.templates = {}, []
        for line in path.read_text().splitlines():
            name = re.match(r"\[(\w+)\] ", line)
            if name:
                self.items[name[1]] = line[name.end() :].split(" | ")
            elif line and not line.startswith("#"):
                self.templates.append(line)

    def request(self, rng) -> str:
        text = re.sub(r"\{(\w+)\}", lambda m: rng.choice(self.items[m[1]]), rng.choice(self.templates))
        opener = rng.choice(self.items["opener"]) + " " if rng.random() < 0.2 else ""
        closer = " " + rng.choice(self.items["closer"]) if rng.random() < 0.5 else ""
        return opener + text + closer

    def conversations(self, rng):
        while True:
            yield [("user", " ".join(self.request(rng) for _ in range(rng.choice((1, 1, 1, 2)))))]


def up_to_a_question(rng, turns):
    """A conversation cut after one of the user's turns."""
    ends = [i for i, (role, _) in enumerate(turns) if role == "user"]
    return turns[: rng.choice(ends) + 1]


def sources(corpora: Path, rng):
    shuffled = lambda items: iter(rng.sample(items := list(items), len(items)))
    pairs = lambda items: (data.roles(turns) for turns in shuffled(items))
    return {
        "open": OpenPrompts(Path(__file__).parent / "open_prompts.txt").conversations(rng),
        "qa": qa_pairs.conversations(1 << 30, seed=rng.randrange(1 << 30)),
        "trivia": pairs(data.trivia(corpora, rng)),
        "dialogues": pairs(data.dialogues(corpora)),
        "problems": pairs(data.word_problems(corpora)),
        "help": pairs(data.help_pages(corpora, rng)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True, help="folder with the target's tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--max-tokens", type=int, default=160, help="longer prompts are left out")
    args = parser.parse_args()
    rng = random.Random(11)
    encoder = data.Encoder(Tokenizer.from_file(str(args.target / "tokenizer.json")))
    prompts = []
    for name, conversations in sources(args.corpora, rng).items():
        for turns in islice(conversations, int(args.count * SHARES[name])):
            tokens, _ = encoder.chat(up_to_a_question(rng, turns))
            if len(tokens) <= args.max_tokens:
                prompts.append(tokens + [encoder.ids["assistant"]])
    prompts = list(map(list, dict.fromkeys(map(tuple, prompts))))
    rng.shuffle(prompts)
    with open(args.out, "w") as out:
        for tokens in prompts:
            out.write(json.dumps({"prompt": tokens}) + "\n")
    print(len(prompts), "prompts")


if __name__ == "__main__":
    main()
