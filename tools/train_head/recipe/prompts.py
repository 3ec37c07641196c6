"""Prompts of a file: conversations whose user turns wait for the model's answers.

| line of the file | becomes |
|---|---|
| {"turns": ["...", "..."]} | the user's turns, one after the other (MT-bench) |
| {"messages": [{"role": ..., "content": ...}, ...]} | a conversation that ends with the user's turn |
| {"prompt": "..."}, {"question": "..."}, {"instruction": "..."} | one user turn |
| {"text": "..."} | a text that the model goes on with, without the chat template |
| any other text | one user turn |

Lines of a file whose name ends in .txt are texts, whatever they look like. A name that ends in .gz or .xz is unpacked.
"""
import gzip
import json
import lzma
from dataclasses import dataclass, field
from pathlib import Path

from .faults import Fault

ONE_TURN = ("prompt", "question", "instruction")
OPENERS = {".gz": gzip.open, ".xz": lzma.open}


@dataclass
class Prompt:
    messages: list = field(default_factory=list)  # what is said before the first answer
    later_turns: list = field(default_factory=list)  # texts of the user, each after an answer
    text: str | None = None  # instead of messages: the prompt itself


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def from_object(item: dict) -> Prompt | None:
    """None: the object has none of the known keys."""
    turns, messages = item.get("turns"), item.get("messages")
    if isinstance(turns, list) and turns and all(isinstance(turn, str) for turn in turns):
        return Prompt([user(turns[0])], turns[1:])
    if isinstance(messages, list) and messages and all(isinstance(m, dict) for m in messages) and messages[-1].get("role") == "user":
        return Prompt(messages)
    for key in ONE_TURN:
        if isinstance(item.get(key), str):
            return Prompt([user(item[key])])
    return Prompt(text=item["text"]) if isinstance(item.get("text"), str) and item["text"] else None


def from_line(line: str, is_text: bool) -> Prompt | None:
    if is_text or not line.lstrip().startswith("{"):
        return Prompt([user(line)])
    try:
        item = json.loads(line)
    except ValueError:
        return None
    return from_object(item)


def read_prompts(path: Path) -> list:
    opener, is_text = OPENERS.get(path.suffix, open), ".txt" in path.suffixes
    prompts = []
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                prompt = from_line(line.rstrip("\r\n"), is_text)
                if prompt is None:
                    raise Fault(f"{path}, line {number}: neither JSON with one of turns, messages, {', '.join(ONE_TURN)}, text, nor a text")
                prompts.append(prompt)
    except (OSError, UnicodeDecodeError, lzma.LZMAError, EOFError) as error:
        raise Fault(f"cannot read prompts of {path}: {error}") from None
    if not prompts:
        raise Fault(f"no prompts in {path}")
    return prompts
