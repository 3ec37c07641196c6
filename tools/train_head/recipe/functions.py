"""Python functions to complete: signature and docstring, with examples that are computed.

A function is put together of a selection and a summary (of numbers), or of a selection and a change (of words and letters).
"""
from dataclasses import dataclass
from itertools import count

NUMBERS = {  # wording -> which numbers; k is a small number that the function takes
    "even": lambda x, k: x % 2 == 0,
    "odd": lambda x, k: x % 2 == 1,
    "positive": lambda x, k: x > 0,
    "negative": lambda x, k: x < 0,
    "prime": lambda x, k: x > 1 and all(x % d for d in range(2, x)),
    "non-zero": lambda x, k: x != 0,
    "two-digit": lambda x, k: 10 <= abs(x) <= 99,
    "square": lambda x, k: x >= 0 and round(x**0.5) ** 2 == x,
    "larger than k": lambda x, k: x > k,
    "smaller than k": lambda x, k: x < k,
    "divisible by k": lambda x, k: x % k == 0,
    "not divisible by k": lambda x, k: x % k != 0,
    "closer to zero than k": lambda x, k: abs(x) < k,
}
SUMMARIES = {
    "the sum of": (sum, "int"),
    "the number of": (len, "int"),
    "the largest of": (lambda x: max(x, default=None), "Optional[int]"),
    "the smallest of": (lambda x: min(x, default=None), "Optional[int]"),
    "the average of": (lambda x: sum(x) / len(x) if x else 0.0, "float"),
    "a list of": (list, "List[int]"),
    "a sorted list of": (sorted, "List[int]"),
    "a list in reverse order of": (lambda x: x[::-1], "List[int]"),
    "a list of the squares of": (lambda x: [i * i for i in x], "List[int]"),
    "a list without repeats of": (lambda x: list(dict.fromkeys(x)), "List[int]"),
    "the difference between the largest and the smallest of": (lambda x: max(x) - min(x) if x else 0, "int"),
    "whether there are any": (lambda x: len(x) > 0, "bool"),
    "the positions, counted from 0, of": (None, "List[int]"),
}
WORDS = {
    "that start with a vowel": lambda w, k: w[0].lower() in "aeiou",
    "that end with a vowel": lambda w, k: w[-1].lower() in "aeiou",
    "that have more than k letters": lambda w, k: len(w) > k,
    "that have at most k letters": lambda w, k: len(w) <= k,
    "that have exactly k letters": lambda w, k: len(w) == k,
    "that begin with a capital letter": lambda w, k: w[0].isupper(),
    "that contain a letter twice": lambda w, k: len(set(w)) < len(w),
    "that contain the letter e": lambda w, k: "e" in w,
    "that read the same backwards": lambda w, k: w == w[::-1],
    "that have an even number of letters": lambda w, k: len(w) % 2 == 0,
}
CHANGES = {
    "joined by commas": (lambda w: ",".join(w), "str"),
    "joined by spaces, in reverse order": (lambda w: " ".join(w[::-1]), "str"),
    "in capital letters": (lambda w: [x.upper() for x in w], "List[str]"),
    "in alphabetical order": (sorted, "List[str]"),
    "from the shortest to the longest": (lambda w: sorted(w, key=len), "List[str]"),
    "each spelled backwards": (lambda w: [x[::-1] for x in w], "List[str]"),
    "each with its length": (lambda w: {x: len(x) for x in w}, "Dict[str, int]"),
    "each with how often it occurs": (lambda w: {x: w.count(x) for x in w}, "Dict[str, int]"),
    "without their first letters": (lambda w: [x[1:] for x in w], "List[str]"),
    "without their vowels": (lambda w: ["".join(c for c in x if c.lower() not in "aeiou") for x in w], "List[str]"),
}
VOCABULARY = ("apple river stone level Anna window tree moon garden Otto coffee paper seven civic bridge London ice orange tent cloud "
              "noon Berlin violin eagle salt pepper radio kayak desk umbrella mouse Peru letter zoo grass").split()
ASIDES = ("The input may be empty.", "Do not change the input.", "If there are none, treat them as an empty list.",
          "Keep the order of the input.", "You can assume that all arguments are valid.", "", "", "", "")
REQUESTS = ("Complete this Python function.\n\n{}", "Write the body of this function:\n\n{}", "```python\n{}```\nFinish the function.",
            "Implement the following function in Python.\n{}", "Complete the code:\n{}")
LEADS = ("Return {}.", "Returns {}.", "This function returns {}.", "Given {given}, return {}.", "You are given {given}. Return {}.",
         "Find {}.", "Write a function that computes {}.")
ARGUMENTS = ("numbers", "values", "nums", "lst", "items", "data", "arr", "xs")
TEXTS = ("text", "sentence", "s", "string", "line", "words")


EXAMPLES = (">>> {call}\n    {value}", "{call} == {value}", "{call} ➞ {value}", "{call} should return {value}")


@dataclass
class Function:
    name: str
    arguments: list  # (name, type)
    result: str  # type
    said: str  # what it returns
    given: str  # what it takes
    examples: list  # (values of the arguments, result)


def numbers_function(rng) -> Function:
    what, (summary, (summarize, result)) = rng.choice(list(NUMBERS)), rng.choice(list(SUMMARIES.items()))
    takes_k, argument, keep = " k" in what, rng.choice(ARGUMENTS), NUMBERS[what]

    def run(values, k):
        if summarize is None:
            return [i for i, x in enumerate(values) if keep(x, k)]
        return summarize([x for x in values if keep(x, k)])

    inputs = [([rng.randint(-20, 60) for _ in range(rng.randint(3, 7))], rng.randint(2, 9)) for _ in range(2)]
    words = f"{summary} {what}".replace("-", " ").replace(",", "").split()
    said = f"{summary} the numbers in {argument} that are {what}"
    if not takes_k and rng.random() < 0.6:
        said = f"{summary} the {what} numbers in {argument}"
    return Function("_".join(word for word in words if word not in ("the", "of", "a", "k", "from")),
                    [(argument, "List[int]")] + [("k", "int")] * takes_k, result, said, "a list of integers",
                    [((values, k)[: 1 + takes_k], run(values, k)) for values, k in inputs])


def words_function(rng) -> Function:
    what, (change, (apply, result)) = rng.choice(list(WORDS)), rng.choice(list(CHANGES.items()))
    takes_k, argument, keep = " k " in what, rng.choice(TEXTS), WORDS[what]
    is_list = argument == "words" or rng.random() < 0.3
    inputs = [([rng.choice(VOCABULARY) for _ in range(rng.randint(2, 6))], rng.randint(3, 6)) for _ in range(2)]
    name = "_".join([*rng.choice((["words"], ["select"], ["get", "words"], ["filter"])), *what.split()[1:4]])
    return Function(name.replace("_k", "").replace("_a_", "_"),
                    [(argument, "List[str]" if is_list else "str")] + [("k", "int")] * takes_k, result,
                    f"the words in {argument} {what}, {change}",
                    "a list of words" if is_list else "a text of words that are separated by spaces",
                    [((values if is_list else " ".join(values), k)[: 1 + takes_k], apply([w for w in values if keep(w, k)]))
                     for values, k in inputs])


def docstring(f: Function, rng) -> list:
    """Its lines."""
    lines, aside, style = [rng.choice(LEADS).format(f.said, given=f.given)], rng.choice(ASIDES), rng.choice(EXAMPLES)
    lines += [aside] * bool(aside) + ["For example:"] * ("should" in style)
    for values, output in f.examples[: rng.choice((1, 2, 2))]:
        lines.append(style.format(call=f"{f.name}({', '.join(map(repr, values))})", value=repr(output)))
    return lines


def source(rng) -> str:
    """Signature and docstring of a function."""
    f = (numbers_function if rng.random() < 0.6 else words_function)(rng)
    is_typed, quotes = rng.random() < 0.6, rng.choice(('"""', '"""', "'''"))
    header = ", ".join(f"{name}: {kind}" if is_typed else name for name, kind in f.arguments)
    types = [t for t in ("Dict", "List", "Optional") if is_typed and t in f"{f.arguments} {f.result}"]
    imports = f"from typing import {', '.join(types)}\n\n\n" if types else ""
    body = "\n    ".join(docstring(f, rng))
    signature = f"def {f.name}({header}){f' -> {f.result}' if is_typed else ''}:"
    return f"{imports}{signature}\n    {quotes}{' ' * rng.randrange(2)}{body}\n    {quotes}\n"


def function_prompts(rng):
    for _ in count():
        text = source(rng)
        yield {"turns": [text if rng.random() < 0.6 else rng.choice(REQUESTS).format(text)]}
