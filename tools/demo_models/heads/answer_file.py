"""The file that answers are kept in while they are made: one JSON line for each turn, with its prompt's number."""
import json
from pathlib import Path

TEMPERATURES = (0.0, 0.0, 0.6, 0.8, 1.0)  # of answers: two fifths greedy


def finished(path: Path) -> set:
    """Numbers of the prompts that are answered; a line that was cut off is removed."""
    if not path.exists():
        return set()
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return {json.loads(line)["prompt_number"] for line in whole.splitlines()}
