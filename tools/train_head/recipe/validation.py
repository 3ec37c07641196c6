"""Accept length and speed of a head through the server itself, plain and drafted in alternation."""
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .faults import Fault
from .prompts import user
from .server import serve

CHAIN = ["--speculative-num-steps", "4", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "5"]
PLAIN = ["--speculative-algorithm", "none"]


def drafting(head: Path, budget: str) -> list:
    return ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", str(head), "--draft-budget", budget, *CHAIN]


@dataclass
class Tally:
    texts: list = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0
    drafted: int = 0  # tokens of answers that were verified
    steps: int = 0

    def add(self, answer: dict):
        meta = answer["meta_info"]
        self.texts.append(answer["text"])
        self.tokens += meta["completion_tokens"]
        if meta.get("spec_verify_ct"):
            self.steps += meta["spec_verify_ct"]
            self.drafted += meta["spec_accept_length"] * meta["spec_verify_ct"]

    @property
    def accept_length(self) -> float:
        return self.drafted / self.steps if self.steps else 0.0

    @property
    def speed(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0


def ask_all(server, prompts: list, max_new_tokens: int, at_once: int, tally: Tally):
    """First turns, greedily."""
    def ask(prompt):
        tokens = server.text_tokens(prompt.text) if prompt.text is not None else server.chat_tokens(prompt.messages)
        return server.generate(tokens, max_new_tokens, temperature=0)

    begin = time.time()
    with ThreadPoolExecutor(at_once) as pool:
        for answer in pool.map(ask, prompts):
            tally.add(answer)
    tally.seconds += time.time() - begin


def warm_up(server):
    server.generate(server.chat_tokens([user("Hello!")]), 16, temperature=0)


def accept_length(program: str, target: str, head: Path, prompts: list, max_new_tokens: int, at_once: int, log: Path, flags=()) -> Tally:
    tally = Tally()
    with serve(program, target, log, [*drafting(head, "full"), *flags]) as server:
        ask_all(server, prompts, max_new_tokens, at_once, tally)
    if not tally.steps:
        raise Fault(f"no answer was drafted: see {log}")
    return tally


def speeds(program: str, target: str, head: Path, prompts: list, max_new_tokens: int, log: Path, part: int = 4, flags=()) -> tuple:
    """(plain, drafted, drafted as the server chooses), one request at a time. All servers run; each part of the prompts is asked of
    one after the other, so that what else the machine does meets all of them alike."""
    plain, full, auto = Tally(), Tally(), Tally()
    name = lambda kind: log.with_name(f"{kind}_{log.name}")
    with serve(program, target, name("plain"), [*PLAIN, *flags]) as a, serve(
            program, target, name("full"), [*drafting(head, "full"), *flags]) as b, serve(
            program, target, name("auto"), [*drafting(head, "auto"), *flags]) as c:
        pairs = [(a, plain), (b, full), (c, auto)]
        for server, _ in pairs:
            warm_up(server)
        for first in range(0, len(prompts), part):
            for server, tally in pairs:
                ask_all(server, prompts[first : first + part], max_new_tokens, 1, tally)
    if not plain.texts == full.texts == auto.texts:
        raise Fault("the texts with drafts differ from the plain ones: this is a fault of the server")
    return plain, full, auto


def report(name: str, tally: Tally, pairs: tuple | None) -> dict:
    """The figures of one file of prompts."""
    figures = {"prompts": name, "answers": len(tally.texts), "accept_length": round(tally.accept_length, 3)}
    if pairs:
        plain, full, auto = pairs
        figures |= {"plain_tokens_per_second": round(plain.speed, 1), "drafted_tokens_per_second": round(full.speed, 1),
                    "auto_tokens_per_second": round(auto.speed, 1), "speedup": round(full.speed / plain.speed, 3),
                    "auto_speedup": round(auto.speed / plain.speed, 3)}
    return figures


def show(figures: dict, path: Path | None = None):
    line = json.dumps(figures)
    print(line, flush=True)
    if path:
        with open(path, "a") as out:
            out.write(line + "\n")
