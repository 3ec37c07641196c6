"""Lists of things, hand-written exchanges, code, stories and text tasks."""
from . import code_tasks, everyday, writing
from .registry import NUMBER, article, bulleted, capital, listing, maker, numbered


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


@maker(4)
def writings(rng):
    return writing.exchange(rng)


@maker(6)
def text_tasks(rng):
    return writing.text_task(rng)


@maker(1)
def long_stories(rng):
    return writing.long_story(rng)


@maker(1.2)
def unknown(rng):
    """Things that a model without a clock, news or senses cannot know."""
    ask, answer = rng.choice((
        (("What time is it?", "What day is it today?", "What is the date today?", "What year is it?"), "I am sorry, I do not have a clock or a calendar."),
        (("What is the weather like today?", "Will it rain tomorrow?", "What will the weather be tomorrow?", "How is the weather?"), "I am sorry, I cannot see the weather. Please look at a weather report."),
        (("What is in the news today?", "Who won the game yesterday?", "What happened today?", "What is the price of gold today?"), "I am sorry, I do not know the news. I only know what I was trained on."),
        (("What is my name?", "How old am I?", "Where do I live?", "What did I eat today?"), "I am sorry, I do not know that. You did not tell me."),
        (("Can you call my mother?", "Open the window.", "Play some music.", "Turn on the light.", "Send an email to my boss."), "I am sorry, I cannot do that. I can only write text."),
        (("What do you see?", "Can you see me?", "Look at this picture.", "Can you hear me?"), "I cannot see or hear. I can only read and write text."),
        (("Will I be rich?", "What will happen tomorrow?", "Can you tell the future?", "What are the lottery numbers?"), "I am sorry, nobody can know the future."),
    ))
    return [rng.choice(ask), answer]
