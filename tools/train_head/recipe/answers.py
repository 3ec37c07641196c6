"""The model's own answers to prompts, as token ids; started again, it goes on where it was.

One line per turn: {"prompt_number", "temperature", "prompt": [ids], "answer": [ids]}. Prompts whose number can be divided by 50
are held out of the training and answered greedily.
"""
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from heads.answer_file import TEMPERATURES, finished

from .faults import Fault
from .prompts import user

HELD_OUT = 50


@dataclass
class Limits:
    max_new_tokens: int = 256
    max_prompt_tokens: int = 512  # longer prompts are left out
    at_once: int = 64
    minutes: float = 1e9


def temperature_of(number: int) -> float:
    return 0.0 if number % HELD_OUT == 0 else random.Random(number).choice(TEMPERATURES)


def answer_turns(server, number: int, prompt, limits: Limits) -> list:
    temperature, messages, lines = temperature_of(number), list(prompt.messages), []
    for later in [*prompt.later_turns, None]:
        tokens = server.text_tokens(prompt.text) if prompt.text is not None else server.chat_tokens(messages)
        if len(tokens) > limits.max_prompt_tokens:
            break
        answer = server.generate(tokens, limits.max_new_tokens, temperature=temperature, sampling_seed=number)
        lines.append({"prompt_number": number, "temperature": temperature, "prompt": tokens, "answer": answer["output_ids"]})
        if later is not None:
            messages += [{"role": "assistant", "content": answer["text"]}, user(later)]
    # A prompt that is too long leaves a line without an answer, so that it is not asked again.
    return lines or [{"prompt_number": number, "temperature": temperature, "prompt": [], "answer": []}]


def in_flight(pool, ask, items, at_once: int):
    """Results in the order in which they come."""
    waiting, items = [], iter(items)
    for item in items:
        waiting.append(pool.submit(ask, item))
        if len(waiting) < at_once:
            continue
        while not any(f.done() for f in waiting):
            time.sleep(0.02)
        for future in [f for f in waiting if f.done()]:
            waiting.remove(future)
            yield future.result()
    for future in waiting:
        yield future.result()


def collect(server, prompts: list, path: Path, limits: Limits, say=print) -> int:
    """Answers what is not answered yet. -> how many answer tokens the file has now."""
    done, begin, new_tokens, count = finished(path), time.time(), 0, 0
    # Held-out prompts come first, so that a run that is ended early can be validated.
    numbers = sorted((n for n in range(len(prompts)) if n not in done), key=lambda n: n % HELD_OUT != 0)
    in_time = (n for n in numbers if time.time() - begin < limits.minutes * 60)
    with open(path, "a") as out, ThreadPoolExecutor(limits.at_once) as pool:
        for lines in in_flight(pool, lambda n: answer_turns(server, n, prompts[n], limits), in_time, limits.at_once):
            # One write per prompt: all of its turns are there, or none.
            out.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
            out.flush()
            new_tokens, count = new_tokens + sum(len(line["answer"]) for line in lines), count + 1
            if count % 200 == 0:
                say(f"{len(done) + count} of {len(prompts)} prompts, {new_tokens} new tokens, "
                    f"{new_tokens / (time.time() - begin):.0f} per second", flush=True)
    with open(path) as lines:
        total = sum(len(json.loads(line)["answer"]) for line in lines)
    if total == 0:
        raise Fault(f"no prompt was answered: all are longer than {limits.max_prompt_tokens} tokens, or there was no time")
    return total
