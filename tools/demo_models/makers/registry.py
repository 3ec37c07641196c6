"""The list of makers and the small text helpers that they share.

A maker is a function (rng) -> [user, assistant, user, ...]: one exchange or a few that belong together.
"""
MAKERS = []  # (function, share of the exchanges)


def maker(share: float):
    def register(function):
        MAKERS.append((function, share))
        return function
    return register


def table(text: str) -> dict:
    """'key: value; key: value' over several lines -> dict."""
    rows = [row.strip() for row in text.replace("\n", " ").split(";")]
    return dict(row.split(": ", 1) for row in rows if row)


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def listing(items) -> str:
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def numbered(items) -> str:
    return "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1))


def bulleted(items) -> str:
    return "\n".join(f"- {item}" for item in items)


def article(noun: str) -> str:
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


NUMBER = dict(enumerate("zero one two three four five six seven eight nine ten eleven twelve".split()))
