"""Words and things: opposites, plurals, spelling, definitions, animals, elements, authors."""
from . import facts
from .registry import article, capital, maker, numbered, table

ANIMALS = {name: dict(zip(("kind", "sound", "young", "food", "home"), rest.split("; ")))
          for name, rest in (row.split(": ", 1) for row in facts.ANIMALS.splitlines())}
OPPOSITES, SYNONYMS = table(facts.OPPOSITES), {k: v.split(", ") for k, v in table(facts.SYNONYMS).items()}
PLURALS, PAST = table(facts.PLURALS), table(facts.PAST)
ELEMENTS = {k: v.split(": ") for k, v in table(facts.ELEMENTS).items()}
WORKS = [(verb, work, who) for verb, text in facts.WORKS.items() for work, who in table(text).items()]
DEFINITIONS = dict(row.split(": ", 1) for row in facts.DEFINITIONS.splitlines())
NO_ARTICLE = set("""astronomy biology chemistry democracy energy evaporation evolution friendship gravity history kindness music oxygen
photosynthesis programming thunder water weather wind sleep peace honesty courage lungs""".split()) | {"artificial intelligence"}
THE = {"sun", "moon", "universe", "internet", "economy", "heart", "brain"}


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
def translations(rng):
    word, others = rng.choice(list(table(facts.TRANSLATIONS).items()))
    i = rng.randrange(3)
    language, foreign = ("French", "German", "Spanish")[i], others.split(", ")[i]
    ask = rng.choice((f"How do you say {word} in {language}?", f"What is \"{word}\" in {language}?", f"Translate {word} to {language}.", f"What is the {language} word for {word}?"))
    return [ask, f"{capital(word)} in {language} is \"{foreign}\"."]


@maker(2.5)
def properties(rng):
    """Colors, what people do, what tools are for, rhymes."""
    kind = rng.randrange(4)
    if kind == 0:
        thing, color = rng.choice(list(table(facts.COLORS).items()))
        return [rng.choice((f"What color is {thing}?", f"Which color does {thing} have?")), capital(f"{thing} is {color}.")]
    if kind == 1:
        who, what = rng.choice(list(table(facts.ROLES).items()))
        return list(rng.choice(((f"What does {article(who)} do?", capital(f"{article(who)} {what}.")), (f"What is {article(who)}?", capital(f"{article(who)} is a person who {what}.")),
                                (f"Who {what}?", capital(f"{article(who)} {what}.")))))
    if kind == 2:
        tool, use = rng.choice(list(table(facts.USES).items()))
        the = tool if tool == "scissors" else article(tool)
        verb = "are" if tool == "scissors" else "is"
        return [rng.choice((f"What {verb} {the} used for?", f"What do you use {the} for?", f"What can I do with {the}?")), f"You use {the} to {use}."]
    word, rhymes = rng.choice(list(table(facts.RHYMES).items()))
    rhymes = rhymes.split(", ")
    if rng.random() < 0.5:
        return [rng.choice((f"What rhymes with {word}?", f"Give me a word that rhymes with {word}.")), f"{capital(rhymes[0])} rhymes with {word}."]
    return [f"Give me words that rhyme with {word}.", capital(", ".join(rhymes)) + "."]


@maker(1.5)
def simple_explanations(rng):
    """Definitions asked for with a style."""
    word, meaning = rng.choice([(w, m) for w, m in DEFINITIONS.items() if w != "lungs"])
    noun = "the " + word if word in THE else word if word in NO_ARTICLE else article(word)
    ask = rng.choice(("Explain {} in simple words.", "Explain {} to a child.", "Explain {} in one sentence.", "What is {}? Explain it simply.", "Can you explain {} to me?",
                      "What exactly is {}?", "I do not know what {} is.", "Tell me what {} is.", "Tell me about {}."))
    return [ask.format(noun), f"{capital(noun)} is {meaning}."]
