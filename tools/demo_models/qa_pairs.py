"""Writes short conversations from tables of facts and from rules.

`conversations(count, seed)` yields lists of (role, text). Each maker returns one exchange as (question, answer) or as a
longer list of alternating user and assistant texts; a conversation holds one to four exchanges and sometimes opens
with a system message.
"""
import random

import code_tasks
import everyday
import facts
import writing

MAKERS = []


def maker(share: float):
    """Registers a function (rng) -> [user, assistant, ...] with its share of the exchanges."""
    def register(function):
        MAKERS.append((function, share))
        return function
    return register


def table(text: str) -> dict:
    rows = [row.strip() for row in text.replace("\n", " ").split(";")] if ";" in text else text.splitlines()
    return dict(row.split(": ", 1) for row in rows if ": " in row)


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
CAPITALS = {country: (city, part) for part, text in facts.COUNTRIES.items() for country, city in table(text).items()}
KNOWN = {c: CAPITALS[c] for c in (*facts.WELL_KNOWN, "the United Kingdom", "the United States", "South Korea", "the Netherlands")}
LANGUAGES, CURRENCIES = table(facts.LANGUAGES), table(facts.CURRENCIES)
ANIMALS = {name: dict(zip(("kind", "sound", "young", "food", "home"), rest.split("; ")))
           for name, rest in (row.split(": ", 1) for row in facts.ANIMALS.splitlines())}
OPPOSITES, SYNONYMS = table(facts.OPPOSITES), {k: v.split(", ") for k, v in table(facts.SYNONYMS).items()}
PLURALS, PAST = table(facts.PLURALS), table(facts.PAST)
ELEMENTS = {k: v.split(": ") for k, v in table(facts.ELEMENTS).items()}
WORKS = [(verb, work, who) for verb, text in facts.WORKS.items() for work, who in table(text).items()]
LANDMARKS = table(facts.LANDMARKS)
DEFINITIONS = dict(row.split(": ", 1) for row in facts.DEFINITIONS.splitlines())
NO_ARTICLE = set("""astronomy biology chemistry democracy energy evaporation evolution friendship gravity history kindness music oxygen
photosynthesis programming thunder water weather wind sleep peace honesty courage lungs""".split()) | {"artificial intelligence"}
THE = {"sun", "moon", "universe", "internet", "economy", "heart", "brain"}


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
    if "one word" in ask:
        say = "{k}"
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
        more = rng.sample([c for c in KNOWN if c not in chosen], rng.choice((1, 2, 3)))
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


@maker(2)
def animals(rng):
    name = rng.choice(list(ANIMALS))
    a = ANIMALS[name]
    sound = f"{article(name)} {a['sound']}"
    options = [
        (f"What kind of animal is {article(name)}?", f"{article(name)} is {article(a['kind'])}."),
        (f"What sound does {article(name)} make?", sound + "."),
        (f"What is a baby {name} called?", f"A baby {name} is called {article(a['young'])}."),
        (f"What does {article(name)} eat?", f"{article(name)} eats {a['food']}."),
        (f"Where does {article(name)} live?", f"{article(name)} lives {a['home']}."),
        (rng.choice((f"Tell me about the {name}.", f"What is {article(name)}?", f"Tell me something about {name}s.", f"Describe {article(name)}.")),
         f"{article(name)} is {article(a['kind'])}. It lives {a['home']} and eats {a['food']}. A baby {name} is called {article(a['young'])}."),
        (f"Is {article(name)} a mammal?", f"Yes, {article(name)} is a mammal." if a["kind"] == "mammal" else f"No, {article(name)} is {article(a['kind'])}."),
    ]
    ask, say = rng.choice(options)
    return [ask, capital(say)]


@maker(2.5)
def words(rng):
    choice = rng.randrange(6)
    if choice == 0:
        a, b = rng.choice(list(OPPOSITES.items()))
        if rng.random() < 0.4:
            a, b = b, a
        ask = rng.choice(("What is the opposite of {}?", "What's the opposite of \"{}\"?", "Give me the opposite of {}.", "Name an antonym of {}."))
        return [ask.format(a), f"The opposite of {a} is {b}."]
    if choice == 1:
        word, similar = rng.choice(list(SYNONYMS.items()))
        ask, count = rng.choice((("Give me a synonym for {}.", 1), ("What is another word for {}?", 1), ("Give me three synonyms for {}.", 3),
                                 ("List 3 synonyms of \"{}\".", 3)))
        if count == 1:
            return [ask.format(word), f"Another word for {word} is {similar[0]}."]
        return [ask.format(word), numbered(similar)]
    if choice == 2:
        one, many = rng.choice(list(PLURALS.items()))
        return [rng.choice((f"What is the plural of {one}?", f"What is the plural form of \"{one}\"?")), f"The plural of {one} is {many}."]
    if choice == 3:
        now, then = rng.choice(list(PAST.items()))
        return [rng.choice((f"What is the past tense of {now}?", f"What is the past tense of \"{now}\"?")), f"The past tense of {now} is {then}."]
    word = rng.choice(list(rng.choice((OPPOSITES, SYNONYMS, PLURALS, DEFINITIONS))))
    if choice == 4:
        spelled = "-".join(word.upper().replace(" ", ""))
        return [rng.choice((f"How do you spell {word}?", f"Spell the word \"{word}\".")), f"{capital(word)} is spelled {spelled}."]
    first = rng.choice(((f"What letter does the word {word} start with?", f"The word {word} starts with the letter {word[0].upper()}."),
                        (f"How many letters are in the word {word.replace(' ', '')}?",
                         f"The word {word.replace(' ', '')} has {len(word.replace(' ', ''))} letters.")))
    return list(first)


@maker(2.5)
def definitions(rng):
    word, meaning = rng.choice(list(DEFINITIONS.items()))
    if word in THE:
        noun = "the " + word
    elif word in NO_ARTICLE:
        noun = word
    else:
        noun = article(word)
    verb = "are" if word == "lungs" else "is"
    ask = rng.choice(("What {v} {n}?", "What {v} {n}?", "Define {w}.", "What does {w} mean?", "Explain what {n} {v}.", "Give me a definition of {w}.",
                      "What do you mean by {w}?", "Can you explain {w}?", "what {v} {n}"))
    return [ask.format(v=verb, n=noun, w=word), f"{capital(noun)} {verb} {meaning}."]


@maker(1)
def elements(rng):
    name, (symbol, number) = rng.choice(list(ELEMENTS.items()))
    return list(rng.choice((
        (f"What is the chemical symbol for {name}?", f"The chemical symbol for {name} is {symbol}."),
        (f"Which element has the symbol {symbol}?", f"{symbol} is the symbol for {name}."),
        (f"What is the atomic number of {name}?", f"The atomic number of {name} is {number}."))))


@maker(1.8)
def works(rng):
    verb, work, who = rng.choice(WORKS)
    ask = {"wrote": ("Who wrote {}?", "Who is the author of {}?"), "painted": ("Who painted {}?", "Which artist painted {}?"),
           "composed": ("Who composed {}?", "Which composer wrote {}?"), "invented": ("Who invented {}?", "Who is the inventor of {}?"),
           "discovered": ("Who discovered {}?",)}[verb]
    return [rng.choice(ask).format(work), f"{capital(who)} {verb} {work}."]


@maker(1)
def landmarks(rng):
    name, place = rng.choice(list(LANDMARKS.items()))
    prefix = "" if place.startswith("on ") else "in "
    return [rng.choice((f"Where is {name}?", f"Where can I find {name}?", f"In which place is {name}?")), f"{capital(name)} is {prefix}{place}."]


@maker(4)
def arithmetic(rng):
    kind = rng.choice("++++---**/")
    if kind == "+":
        a, b = (rng.randint(0, 20), rng.randint(0, 20)) if rng.random() < 0.6 else (rng.randint(0, 99), rng.randint(0, 99))
        result, name = a + b, "plus"
    elif kind == "-":
        a, b = sorted((rng.randint(0, 20), rng.randint(0, 20)) if rng.random() < 0.6 else (rng.randint(0, 99), rng.randint(0, 99)))[::-1]
        result, name = a - b, "minus"
    elif kind == "*":
        a, b = rng.randint(0, 12), rng.randint(0, 12)
        result, name = a * b, "times"
    else:
        b, result = rng.randint(1, 12), rng.randint(0, 12)
        a, name = b * result, "divided by"
    ask = rng.choice((f"What is {a} {kind} {b}?", f"What is {a} {name} {b}?", f"{a} {kind} {b} = ?", f"Calculate {a} {kind} {b}.", f"How much is {a} {kind} {b}?",
                      f"What's {a}{kind}{b}?", f"what is {a} {kind} {b}"))
    return [ask, rng.choice((f"{a} {kind} {b} = {result}",) * 3 + (f"{a} {kind} {b} is {result}.",))]


@maker(2)
def small_maths(rng):
    choice = rng.randrange(9)
    n = rng.randint(0, 50)
    if choice == 0:
        return [f"Is {n} even or odd?", f"{n} is {'even' if n % 2 == 0 else 'odd'}."]
    if choice == 1:
        return [f"What number comes after {n}?", f"After {n} comes {n + 1}."]
    if choice == 2:
        return [f"What number comes before {n + 1}?", f"Before {n + 1} comes {n}."]
    if choice == 3:
        a, b = rng.sample(range(100), 2)
        return [f"Which is bigger, {a} or {b}?", f"{max(a, b)} is bigger than {min(a, b)}."]
    if choice == 4:
        stop = rng.choice((3, 5, 10, 10, 12, 15, 20))
        return [rng.choice((f"Count to {stop}.", f"Count from 1 to {stop}.", f"Can you count to {stop}?")), ", ".join(map(str, range(1, stop + 1)))]
    if choice == 5:
        k = rng.choice((2, 3, 5, 10))
        return [f"Count by {k}s.", ", ".join(str(k * i) for i in range(1, 11))]
    if choice == 6:
        start, step = rng.randint(1, 10), rng.choice((1, 2, 3, 5, 10))
        run = [start + step * i for i in range(5)]
        return [f"What comes next: {', '.join(map(str, run[:4]))}?", f"The next number is {run[4]}."]
    if choice == 7:
        n = rng.randint(1, 12)
        return [f"What is the square of {n}?", f"The square of {n} is {n * n}."]
    n = rng.randrange(2, 60, 2)
    return list(rng.choice(((f"What is half of {n}?", f"Half of {n} is {n // 2}."), (f"What is twice {n}?", f"Twice {n} is {2 * n}."))))


@maker(2)
def little_problems(rng):
    name, other = rng.sample(everyday.NAMES, 2)
    thing = rng.choice("apples books pencils marbles cookies coins stickers balloons oranges cards".split())
    a, b = rng.randint(2, 20), rng.randint(1, 12)
    choice = rng.randrange(4)
    if choice == 0:
        return [f"{name} has {a} {thing}. {other} gives {name} {b} more. How many {thing} does {name} have now?",
                f"{name} has {a} + {b} = {a + b} {thing}.\nThe answer is {a + b}."]
    if choice == 1:
        a, b = max(a, b + 1), min(a, b)
        return [f"{name} has {a} {thing} and gives {b} to {other}. How many {thing} are left?",
                f"{name} has {a} - {b} = {a - b} {thing} left.\nThe answer is {a - b}."]
    if choice == 2:
        a, b = rng.randint(2, 10), rng.randint(2, 10)
        return [f"There are {a} boxes with {b} {thing} in each box. How many {thing} are there?",
                f"There are {a} * {b} = {a * b} {thing}.\nThe answer is {a * b}."]
    a, b = rng.randint(2, 9), rng.randint(2, 9)
    return [f"{name} shares {a * b} {thing} equally among {a} friends. How many does each friend get?",
            f"Each friend gets {a * b} / {a} = {b} {thing}.\nThe answer is {b}."]


@maker(1.5)
def units(rng):
    big, small, factor = rng.choice((
        ("kilometer", "meters", 1000), ("meter", "centimeters", 100), ("centimeter", "millimeters", 10), ("kilogram", "grams", 1000),
        ("hour", "minutes", 60), ("minute", "seconds", 60), ("day", "hours", 24), ("week", "days", 7), ("year", "months", 12),
        ("foot", "inches", 12), ("yard", "feet", 3), ("liter", "milliliters", 1000), ("pound", "ounces", 16), ("decade", "years", 10),
        ("century", "years", 100), ("dozen", "items", 12), ("dollar", "cents", 100), ("gallon", "quarts", 4), ("ton", "kilograms", 1000)))
    n = rng.choice((1, 1, 1, 2, 3, 4, 5, 6, 8, 10))
    bigs = big if n == 1 else {"foot": "feet", "century": "centuries", "dozen": "dozen"}.get(big, big + "s")
    ask = rng.choice((f"How many {small} are in {article(big) if n == 1 else f'{n} {bigs}'}?", f"Convert {n} {bigs} to {small}.",
                      f"How many {small} are there in {n} {bigs}?")).replace("a hour", "an hour")
    return [ask, f"There are {n * factor} {small} in {article(big).replace('a hour', 'an hour') if n == 1 else f'{n} {bigs}'}."]


@maker(1.5)
def calendar(rng):
    days = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
    months = "January February March April May June July August September October November December".split()
    lengths = dict(zip(months, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)))
    choice = rng.randrange(7)
    i, j = rng.randrange(7), rng.randrange(12)
    if choice == 0:
        return [rng.choice((f"What day comes after {days[i]}?", f"Which day follows {days[i]}?")), f"The day after {days[i]} is {days[(i + 1) % 7]}."]
    if choice == 1:
        return [f"What day comes before {days[i]}?", f"The day before {days[i]} is {days[i - 1]}."]
    if choice == 2:
        return [rng.choice((f"What month comes after {months[j]}?", f"Which month follows {months[j]}?")), f"The month after {months[j]} is {months[(j + 1) % 12]}."]
    if choice == 3:
        more = " (29 in a leap year)" if j == 1 else ""
        return [f"How many days are in {months[j]}?", f"{months[j]} has {lengths[months[j]]} days{more}."]
    if choice == 4:
        return [rng.choice(("List the days of the week.", "What are the days of the week?", "Name the days of the week.")), numbered(days)]
    if choice == 5:
        return [rng.choice(("List the months of the year.", "What are the months of the year?", "Name the twelve months.")), numbered(months)]
    return [f"Which month is number {j + 1}?", f"Month number {j + 1} is {months[j]}."]


@maker(3)
def small_lists(rng):
    """'List N fruits' for every group of things in everyday.GROUPS."""
    name, items = rng.choice(list(everyday.GROUPS.items()))
    count = min(rng.choice((1, 2, 3, 3, 3, 4, 5, 5, 6, 10)), len(items))
    chosen = items[:count] if rng.random() < 0.4 else rng.sample(items, count)
    number = str(count) if rng.random() < 0.6 else NUMBER[count]
    if count == 1:
        noun = everyday.SINGULAR.get(name, name.removesuffix("s"))
        return [rng.choice((f"Name {article(noun)}.", f"Tell me {article(noun)}.")), f"{capital(chosen[0])}."]
    verb = rng.choice(("List", "Name", "Give me", "Tell me", "Write", "Please list", "Can you name"))
    ask = f"{verb} {number} {name}" + ("?" if verb.startswith("Can") else ".")
    style = rng.random()
    if style < 0.6:
        return [ask, numbered(map(capital, chosen))]
    if style < 0.75:
        return [ask.replace(".", " as bullet points.").replace("?", " as bullet points?"), bulleted(map(capital, chosen))]
    return [ask.replace(".", " in one sentence.").replace("?", " in one sentence?"), f"{capital(NUMBER[count])} {name} are {listing(chosen)}."]


@maker(2)
def membership(rng):
    """Is X a kind of Y?"""
    name, items = rng.choice(list(everyday.GROUPS.items()))
    if name not in everyday.SINGULAR and not name.endswith("s"):
        return small_lists(rng)
    noun = everyday.SINGULAR.get(name, name.removesuffix("s"))
    item = rng.choice(items)
    if rng.random() < 0.5:
        return [f"Is {item} {article(noun)}?", f"Yes, {item} is {article(noun)}."]
    group, others = rng.choice([(g, o) for g, o in everyday.GROUPS.items() if g != name and not set(o) & set(items)])
    odd = rng.choice(others)
    three = rng.sample(items, 3)
    four = three + [odd]
    rng.shuffle(four)
    return [f"Which one does not belong: {', '.join(four)}?", f"{capital(odd)} does not belong. The others are {name}."]


@maker(9)
def fixed(rng):
    """Hand-written exchanges: who are you, greetings, facts, advice."""
    group = rng.choice(("self", "greeting", "knowledge", "knowledge", "knowledge", "advice"))
    questions, answers = rng.choice(everyday.FIXED[group])
    ask = rng.choice(questions)
    if rng.random() < 0.12:
        ask = ask.lower().rstrip("?.!")
    return [ask, rng.choice(answers)]


@maker(2.5)
def code(rng):
    return code_tasks.exchange(rng)


@maker(3)
def writings(rng):
    return writing.exchange(rng)


@maker(2)
def text_tasks(rng):
    return writing.text_task(rng)


SYSTEM = ("You are a helpful assistant.", "You are a helpful assistant.", "You are a friendly assistant. Answer in short sentences.",
          "Answer the question.", "You are a small and helpful language model.", "You are a polite teacher.", "Be brief.")


def conversation(rng):
    turns = []
    functions, shares = zip(*MAKERS)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        turns += rng.choices(functions, shares)[0](rng)
    messages = [(("user", "assistant")[i % 2], text) for i, text in enumerate(turns)]
    return ([("system", rng.choice(SYSTEM))] if rng.random() < 0.15 else []) + messages


def conversations(count: int, seed: int):
    rng = random.Random(seed)
    for _ in range(count):
        yield conversation(rng)
