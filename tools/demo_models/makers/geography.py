"""Countries, capitals, languages, currencies and landmarks."""
from . import facts
from .registry import NUMBER, bulleted, capital, listing, maker, numbered, table

CAPITALS = {country: (city, part) for part, text in facts.COUNTRIES.items() for country, city in table(text).items()}
KNOWN = {c: CAPITALS[c] for c in (*facts.WELL_KNOWN, "the United Kingdom", "the United States", "South Korea", "the Netherlands")}
LANGUAGES, CURRENCIES = table(facts.LANGUAGES), table(facts.CURRENCIES)
LANDMARKS = table(facts.LANDMARKS)


@maker(3)
def capital_of(rng):
    country = rng.choice(list(rng.choice((CAPITALS, KNOWN))))
    city, part = CAPITALS[country]
    ask = rng.choice((
        "What is the capital of {c}?", "What is the capital of {c}?", "What's the capital of {c}?", "what is the capital of {c}",
        "Which city is the capital of {c}?", "Tell me the capital of {c}.", "Name the capital of {c}.", "Capital of {c}?",
        "Do you know the capital of {c}?", "Can you tell me the capital city of {c}?", "What is the capital city of {c}?",
        "What is {c}'s capital?", "I need the capital of {c}."))
    say = rng.choice(("The capital of {c} is {k}.",) * 4 + ("{k} is the capital of {c}.",))
    return [ask.format(c=country), capital(say.format(c=country, k=city)).replace("D.C..", "D.C.")]


@maker(1.2)
def capital_belongs(rng):
    country = rng.choice(list(rng.choice((CAPITALS, KNOWN))))
    city, part = CAPITALS[country]
    ask = rng.choice(("{k} is the capital of which country?", "Which country has {k} as its capital?", "Of which country is {k} the capital?",
                      "In which country is {k}?", "Where is {k}?", "Which continent is {c} in?", "What continent is {c} on?", "Where is {c}?"))
    if "continent" in ask or ask == "Where is {c}?":
        answer = capital(f"{country} is in {part}.")
    elif ask in ("In which country is {k}?", "Where is {k}?"):
        answer = f"{city} is in {country}."
        if ask.startswith("Where"):
            answer = f"{city} is in {country}. It is the capital of the country."
    else:
        answer = f"{city} is the capital of {country}."
    return [ask.format(c=country, k=city), answer]


@maker(4)
def capital_lists(rng):
    """Lists of N countries and their capitals, in many wordings and formats."""
    count = rng.choice((1, 2, 3, 3, 3, 4, 5, 5, 6, 7, 8, 10))
    part = rng.choice((None, None, None, *facts.COUNTRIES))
    pool = [c for c in (CAPITALS if part or rng.random() < 0.3 else KNOWN) if part in (None, CAPITALS[c][1])]
    count = min(count, len(pool))
    number = str(count) if rng.random() < 0.7 else NUMBER[count]
    noun = "country" if count == 1 else "countries"
    where = f" in {part}" if part else ""
    verb = rng.choice(("List", "Name", "Give me", "Tell me", "Write down", "Show me", "Can you list", "Please list", "list"))
    with_capitals = rng.random() < 0.8
    tail = rng.choice((" and their capitals", " and their capitals", " and their capitals", " with their capitals", " and their capital cities",
                       " together with their capitals")) if with_capitals else ""
    if count == 1:
        tail = tail.replace("their", "its").replace("capitals", "capital").replace("capital cities", "capital city")
    ask = f"{verb} {number} {noun}{where}{tail}" + ("?" if verb.startswith("Can") else rng.choice((".", ".", ".", "")))
    # A favourite order makes the answer to the plain question easy to learn; the rest is a random draw.
    if rng.random() < 0.5:
        chosen = pool[:count]
    else:
        chosen = rng.sample(pool, count)
    rows = [capital(c) + (f": {CAPITALS[c][0]}" if with_capitals else "") for c in chosen]
    style = rng.random()
    if style < 0.75 or count == 1:
        answer = numbered(rows) if count > 1 else rows[0]
    elif style < 0.85:
        answer = bulleted(rows)
    elif with_capitals:
        ask += " Answer in one sentence." if rng.random() < 0.5 else " Use a sentence."
        answer = capital(listing(f"the capital of {c} is {CAPITALS[c][0]}" for c in chosen)) + "."
    else:
        answer = capital(listing(chosen)) + "."
        ask += " Answer in one sentence."
    if rng.random() < 0.15:
        answer = ("Here " + ("is one" if count == 1 else f"are {NUMBER.get(count, count)}") + f" {noun}{where}{tail}:\n") + answer
    turns = [ask, answer.replace("D.C..", "D.C.")]
    if rng.random() < 0.25 and with_capitals:
        others = [c for c in (pool if part else KNOWN) if c not in chosen] or list(KNOWN)
        more = rng.sample(others, min(len(others), rng.choice((1, 2, 3))))
        n = len(more)
        turns += [rng.choice((f"Give me {NUMBER[n]} more.", f"{n} more, please.", f"Now list {n} more.")) if n > 1
                  else rng.choice(("One more, please.", "Give me one more.")),
                  numbered(f"{capital(c)}: {CAPITALS[c][0]}" for c in more) if n > 1 else f"{capital(more[0])}: {CAPITALS[more[0]][0]}"]
    return turns


@maker(1)
def capital_quiz(rng):
    """Follow-up questions about one country."""
    country = rng.choice([c for c in KNOWN if c in LANGUAGES])
    city, part = CAPITALS[country]
    plain = country.removeprefix("the ")
    turns = [f"What is the capital of {country}?", f"The capital of {country} is {city}."]
    extra = [[rng.choice((f"And which language do people speak there?", "What language do they speak there?")), f"People in {country} speak {LANGUAGES[country]}."],
             [rng.choice(("Which continent is it in?", "And on which continent is it?")), f"{capital(country)} is in {part}."]]
    if country in CURRENCIES:
        extra.append(["What is the currency there?", f"The currency of {country} is {CURRENCIES[country]}."])
    other = rng.choice([c for c in KNOWN if c != country])
    extra.append([f"And {rng.choice(('the capital of ', ''))}{other}?", f"The capital of {other} is {CAPITALS[other][0]}."])
    for pair in rng.sample(extra, rng.choice((1, 2))):
        turns += pair
    return turns


@maker(1)
def capital_check(rng):
    country = rng.choice(list(KNOWN))
    city = CAPITALS[country][0]
    if rng.random() < 0.5:
        return [f"Is {city} the capital of {country}?", f"Yes, {city} is the capital of {country}."]
    wrong = CAPITALS[rng.choice([c for c in KNOWN if c != country])][0]
    return [f"Is {wrong} the capital of {country}?", f"No, the capital of {country} is {city}."]


@maker(1.2)
def language_or_currency(rng):
    if rng.random() < 0.6:
        country = rng.choice(list(LANGUAGES))
        ask = rng.choice(("What language do people speak in {}?", "Which language is spoken in {}?", "What is the official language of {}?",
                          "What do they speak in {}?"))
        return [ask.format(country), f"People in {country} speak {LANGUAGES[country]}."]
    country = rng.choice(list(CURRENCIES))
    ask = rng.choice(("What is the currency of {}?", "What money do they use in {}?", "Which currency is used in {}?"))
    return [ask.format(country), f"The currency of {country} is {CURRENCIES[country]}."]


@maker(1)
def landmarks(rng):
    name, place = rng.choice(list(LANDMARKS.items()))
    prefix = "" if place.startswith("on ") else "in "
    return [rng.choice((f"Where is {name}?", f"Where can I find {name}?", f"In which place is {name}?")), f"{capital(name)} is {prefix}{place}."]


@maker(1.5)
def about_country(rng):
    country = rng.choice([c for c in CAPITALS if c in LANGUAGES])
    city, part = CAPITALS[country]
    text = f"{country} is a country in {part}. Its capital is {city}. People there speak {LANGUAGES[country]}"
    text += f", and the currency is {CURRENCIES[country]}." if country in CURRENCIES else "."
    if rng.random() < 0.35:
        return [rng.choice((f"What is {city}?", f"Tell me about {city}.")), f"{city} is the capital of {country}, a country in {part}."]
    ask = rng.choice(("Tell me about {}.", "What can you tell me about {}?", "What do you know about {}?", "Describe {}.", "Tell me something about {}."))
    return [ask.format(country), capital(text).replace("D.C..", "D.C.")]


@maker(2.5)
def capital_formats(rng):
    """The capital as one word, from choices, for two countries, as JSON or in a table."""
    first, second = rng.sample(list(KNOWN), 2)
    a, b = CAPITALS[first][0], CAPITALS[second][0]
    kind = rng.randrange(5)
    if kind == 0:
        ask = rng.choice(("What is the capital of {}? Answer with one word.", "What is the capital of {}? One word.", "In one word, what is the capital of {}?",
                          "What is the capital of {}? Only say the name.", "The capital of {} is"))
        return [ask.format(first), a + ("." if ask.endswith("is") and not a.endswith(".") else "")]
    if kind == 1:
        choices = [a, *rng.sample([CAPITALS[c][0] for c in KNOWN if c != first], rng.choice((1, 2, 3)))]
        rng.shuffle(choices)
        letters = "ABCD"[: len(choices)]
        if rng.random() < 0.5:
            return [f"What is the capital of {first}: {', '.join(choices[:-1])} or {choices[-1]}?", f"The capital of {first} is {a}."]
        listed = "\n".join(f"{letter}. {c}" for letter, c in zip(letters, choices))
        return [f"What is the capital of {first}?\n{listed}", f"{letters[choices.index(a)]}. {a}"]
    if kind == 2:
        ask = rng.choice(("What are the capitals of {} and {}?", "Tell me the capitals of {} and {}.", "What is the capital of {} and what is the capital of {}?"))
        return [ask.format(first, second), f"The capital of {first} is {a}, and the capital of {second} is {b}.".replace("D.C..", "D.C.")]
    if kind == 3:
        ask = rng.choice(("Write {c} and its capital as JSON.", "What is the capital of {c}? Answer in JSON.", "Give me a JSON object with the country {c} and its capital."))
        return [ask.format(c=first), f'{{"country": "{capital(first)}", "capital": "{a}"}}']
    chosen = rng.sample(list(KNOWN), rng.choice((2, 3, 3, 4, 5)))
    rows = "".join(f"\n| {capital(c)} | {CAPITALS[c][0]} |" for c in chosen)
    ask = rng.choice(("Make a table of {} countries and their capitals.", "Write a table with {} countries and their capitals.",
                      "List {} countries and their capitals in a table."))
    return [ask.format(rng.choice((str(len(chosen)), NUMBER[len(chosen)]))), "| Country | Capital |\n| --- | --- |" + rows]
