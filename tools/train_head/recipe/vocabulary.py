"""The draft vocabulary: the tokens that the target says most."""
import json
from pathlib import Path

from .faults import Fault, need

need("torch")
need("numpy")

from heads.answers import frequent_tokens, read_answers

EVERYTHING = 1 << 30


def covered(answers: list, ids: list) -> float:
    """Share of the answers' tokens that are in `ids`."""
    kept, said = set(ids), [token for answer in answers for token in answer.tokens[answer.prompt :]]
    return sum(token in kept for token in said) / max(1, len(said))


def choose(answers_file: Path, count: int, always: list, vocab_size: int) -> list:
    """Ascending ids, as d2t wants them."""
    answers = read_answers(answers_file, EVERYTHING)
    if not answers:
        raise Fault(f"{answers_file} has no answers to count the tokens of")
    return sorted(frequent_tokens(answers, min(count, vocab_size), always))


def read_or_choose(path: Path, answers_file: Path, count: int, always: list, vocab_size: int, say=print) -> list:
    """The vocabulary stays as it is once there is one: the head's output matrix belongs to it."""
    if path.exists():
        return json.loads(path.read_text())
    ids = choose(answers_file, count, always, vocab_size)
    path.write_text(json.dumps(ids) + "\n")
    held_out = read_answers(answers_file, EVERYTHING, held_out=True)
    share = 100 * covered(held_out, ids)
    say(f"draft vocabulary: {len(ids)} of {vocab_size} tokens, {share:.1f} % of the tokens of held-out answers", flush=True)
    return ids
