"""Turns the corpora into token streams for training.

Every document is a list of (text, weight) pieces: plain text for books and help pages, turns for conversations.
`build()` writes one flat uint16 array of tokens and one uint8 array of loss weights per source; the mixture over the
sources is chosen in train.py and moves from books to conversations as training goes on.
"""
import json
import lzma
import random
import re
import tarfile
from pathlib import Path

import numpy as np

import qa_pairs

BOS, END = "<|bos|>", "<|end|>"
# Loss weights are stored in eighths: the user's words teach language too, but less.
FULL, USER = 8, 2


def read(corpora: Path, name: str) -> str:
    # A few trivia items are in other encodings; their odd bytes are dropped.
    return lzma.open(corpora / name, "rt", encoding="utf-8", errors="ignore").read()


def ascii_quotes(text: str) -> str:
    return text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})


def books(corpora: Path):
    for book in read(corpora, "children_and_adventure.txt.xz").split("# Title: ")[1:]:
        yield "# Title: " + ascii_quotes(book).strip()


def dialogues(corpora: Path):
    """Conversations as lists of turns, user first."""
    for block in read(corpora, "sgd_dialogues.txt.xz").split("\n\n"):
        turns = [line.split(": ", 1)[1] for line in block.strip().splitlines() if ": " in line]
        if len(turns) >= 2:
            yield turns[: len(turns) // 2 * 2]


def trivia(corpora: Path, rng: random.Random):
    """Multiple-choice items become open questions, choices, or true/false conversations."""
    for block in ascii_quotes(read(corpora, "open_trivia_qa.txt.xz")).split("#Q ")[1:]:
        lines = block.strip().splitlines()
        marks = [i for i, line in enumerate(lines) if line.startswith("^ ")]
        if not marks:
            continue
        question = " ".join(lines[: marks[0]]).strip()
        answer = lines[marks[0]][2:].strip()
        choices = [line[2:].strip() for line in lines[marks[0] + 1 :] if re.match(r"[A-D] ", line)]
        if not question or not answer or len(question) > 400:
            continue
        if answer in ("True", "False"):
            yield [f"True or false: {question}", f"{answer}."]
            continue
        full = answer if answer[-1] in ".!?" else answer + "."
        if choices and (rng.random() < 0.4 or re.search(r"of these|of the following|odd|except", question)):
            listed = "\n".join(f"{letter}. {choice}" for letter, choice in zip("ABCD", choices))
            letter = "ABCD"[choices.index(answer)] + ". " if answer in choices else ""
            yield [f"{question}\n{listed}", letter + full]
        else:
            yield [question, full]


def word_problems(corpora: Path):
    for line in lzma.open(corpora / "gsm8k_train.jsonl.xz", "rt", encoding="utf-8"):
        item = json.loads(line)
        work = re.sub(r"<<.*?>>", "", item["answer"])
        yield [item["question"], work.replace("\n#### ", "\nThe answer is ") + "."]


def help_pages(corpora: Path, rng: random.Random):
    """tldr pages as questions about a command."""
    with tarfile.open(corpora / "tldr_pages_en.tar.xz") as tar:
        for member in tar:
            if not member.isfile() or not member.name.endswith(".md") or "/common/" not in member.name and "/linux/" not in member.name:
                continue
            page = tar.extractfile(member).read().decode("utf-8")
            name = page.splitlines()[0].removeprefix("# ").strip()
            about = " ".join(line[2:] for line in page.splitlines() if line.startswith("> ") and "More information" not in line)
            page = re.sub(r"\{\{(.*?)\}\}", r"\1", page)
            page = re.sub(r"\[(\w)\]", r"\1", page)
            uses = re.findall(r"^- (.*?):\n\n`(.*?)`$", page, re.M)
            if not uses or not about:
                continue
            turns = [rng.choice([f"What does the command {name} do?", f"What is {name}?", f"Explain the {name} command."]), about]
            for what, command in rng.sample(uses, min(2, len(uses))):
                turns += [f"With {name}: {what[0].lower() + what[1:]}.", f"`{command}`"]
            yield turns


def tokenizer_texts(corpora: Path):
    rng = random.Random(1)
    for i, book in enumerate(books(corpora)):
        if i % 4 == 0:
            yield book
    for turns in dialogues(corpora):
        if rng.random() < 0.25:
            yield "\n".join(turns)
    for source in (trivia(corpora, rng), word_problems(corpora), help_pages(corpora, rng)):
        for turns in source:
            yield "\n".join(turns)
    for turns in qa_pairs.conversations(60000, seed=1):
        yield "\n".join(text for _, text in turns)


class Encoder:
    """Documents -> (tokens, loss weights)."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = {role: tokenizer.token_to_id(f"<|{role}|>") for role in ("system", "user", "assistant")}
        self.bos, self.end = tokenizer.token_to_id(BOS), tokenizer.token_to_id(END)

    def encode(self, text: str) -> list:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def text(self, text: str):
        tokens = [self.bos, *self.encode(text), self.end]
        return tokens, [FULL] * len(tokens)

    def chat(self, turns):
        """turns: (role, text) pairs."""
        tokens, weights = [self.bos], [0]
        for role, text in turns:
            ids = self.encode(text.strip())
            weight = FULL if role == "assistant" else USER
            tokens += [self.ids[role], *ids, self.end]
            weights += [0, *[weight] * len(ids), weight]
        return tokens, weights


def roles(turns):
    return [(("user", "assistant")[i % 2], text) for i, text in enumerate(turns)]


def sources(corpora: Path, encoder: Encoder, qa_count: int, seed: int):
    """Yields (name, iterator of encoded documents)."""
    rng = random.Random(seed)
    yield "books", (encoder.text(text) for text in books(corpora))
    yield "dialogues", (encoder.chat(roles(turns)) for turns in dialogues(corpora))
    yield "trivia", (encoder.chat(roles(turns)) for turns in trivia(corpora, rng))
    yield "problems", (encoder.chat(roles(turns)) for turns in word_problems(corpora))
    yield "help", (encoder.chat(roles(turns)) for turns in help_pages(corpora, rng))
    yield "qa", (encoder.chat(turns) for turns in qa_pairs.conversations(qa_count, seed=seed))


def build(corpora: Path, tokenizer, out: Path, qa_count: int, seed: int = 7, only=None):
    """Writes OUT/<source>.npz with tokens, weights and document starts; the last 1 % of documents is for validation."""
    out.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(tokenizer)
    for name, documents in sources(corpora, encoder, qa_count, seed):
        if only and name not in only:
            continue
        documents = list(documents)
        random.Random(seed).shuffle(documents)
        keep = max(1, len(documents) // 100)
        for part, docs in (("train", documents[keep:]), ("valid", documents[:keep])):
            starts = np.cumsum([0] + [len(tokens) for tokens, _ in docs])
            np.savez(out / f"{name}.{part}.npz",
                     tokens=np.concatenate([np.array(tokens, np.uint16) for tokens, _ in docs]),
                     weights=np.concatenate([np.array(weights, np.uint8) for _, weights in docs]), starts=starts)
        print(f"{name}: {len(documents)} documents, {int(starts[-1])} validation tokens", flush=True)


def main():
    import argparse

    from tokenizers import Tokenizer
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--qa-count", type=int, default=150000)
    parser.add_argument("--only", nargs="*", help="build only these sources")
    args = parser.parse_args()
    build(args.corpora, Tokenizer.from_file(str(args.model / "tokenizer.json")), args.out, args.qa_count, only=args.only)


if __name__ == "__main__":
    main()
