"""Prompts that the model invents: it goes on where its chat template expects the user's words."""
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .answers import in_flight
from .faults import Fault

# Beginnings that steer what is asked; the empty one comes as often as all others together.
BEGINNINGS = ("What", "How", "Why", "Write a", "Explain", "Can you", "Give me", "Compare", "Imagine", "Solve", "Create a", "Describe",
              "List", "Summarize", "Write a Python function that", "def ", "from typing import List\n\n\ndef ", "Is", "I want to",
              "Suppose", "You are", "Draft", "Rewrite", "Extract", "If")
MARK = "QZMARKZQ"
MAX_TOKENS = 160
TEMPERATURE = 1.0


def before_user(server) -> str:
    """The chat template's text up to the user's words."""
    from .server import post
    text = post(f"{server.url}/tokenize", {"messages": [{"role": "user", "content": MARK}]})["prompt"]
    if text.count(MARK) != 1:
        raise Fault("the model's chat template does not show the user's words once: prompts cannot be invented")
    return text[: text.index(MARK)]


def invent_one(server, start: str, number: int) -> str | None:
    beginning = BEGINNINGS[number // 2 % len(BEGINNINGS)] if number % 2 else ""
    tokens = server.text_tokens(start + beginning)
    answer = server.generate(tokens, MAX_TOKENS, temperature=TEMPERATURE, top_p=0.95, sampling_seed=number)
    text = beginning + answer["text"]
    is_whole = answer["meta_info"]["finish_reason"]["type"] == "stop"
    return text.strip() if is_whole and 12 <= len(text.strip()) <= 1200 else None


def invent(server, count: int, path: Path, at_once: int = 64, say=print):
    """Adds lines to `path` until it has `count`, or until half of the tries of a run were of no use."""
    start, known = before_user(server), set(path.read_text().splitlines()) if path.exists() else set()
    begin, missing, first = time.time(), count - len(known), 2 * len(known)
    tries = range(first, first + max(0, missing) * 2)
    with open(path, "a") as out, ThreadPoolExecutor(at_once) as pool:
        for text in in_flight(pool, lambda number: invent_one(server, start, number), tries, at_once):
            line = json.dumps({"turns": [text]}) if text else None
            if line and line not in known and len(known) < count:
                known.add(line)
                out.write(line + "\n")
                if len(known) % 200 == 0:
                    out.flush()
                    say(f"{len(known)} invented prompts, {time.time() - begin:.0f} s", flush=True)
            if len(known) >= count:
                pool.shutdown(cancel_futures=True)
                break
    if not known:
        raise Fault("the model invents no prompts: give some with --prompts")
