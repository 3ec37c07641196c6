"""Sums, sequences, word problems, units and the calendar."""
from .everyday import NAMES
from .registry import article, capital, maker, numbered


@maker(7)
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


@maker(3.5)
def little_problems(rng):
    name, other = rng.sample(NAMES, 2)
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


@maker(1.5)
def more_numbers(rng):
    words = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
    roman = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX".split()
    kind, n = rng.randrange(6), rng.randint(0, 20)
    if kind == 0:
        return [rng.choice((f"Write {n} as a word.", f"How do you write {n} in words?")), capital(words[n]) + "."]
    if kind == 1:
        return [f"Write the word {words[n]} as a number.", str(n)]
    if kind == 2:
        n = max(n, 1)
        return [f"What is {n} in Roman numerals?", f"{n} in Roman numerals is {roman[n - 1]}."]
    if kind == 3:
        stop = rng.choice((25, 30, 40, 50, 100))
        return [rng.choice((f"Count to {stop}.", f"Count from 1 to {stop}.", f"Write the numbers from 1 to {stop}.")), ", ".join(map(str, range(1, stop + 1)))]
    if kind == 4:
        start = rng.choice((5, 10, 10, 12, 20))
        return [rng.choice((f"Count down from {start}.", f"Count backwards from {start}.")), ", ".join(map(str, range(start, 0, -1)))]
    hour, later = rng.randint(1, 12), rng.randint(1, 6)
    return [f"It is {hour} o'clock. What time is it in {later} hours?" if later > 1 else f"It is {hour} o'clock. What time is it in one hour?",
            f"It will be {(hour + later - 1) % 12 + 1} o'clock."]


@maker(1.5)
def longer_sums(rng):
    """Sums of three numbers and sums of larger numbers, worked out step by step."""
    if rng.random() < 0.5:
        a, b, c = (rng.randint(1, 30) for _ in range(3))
        return [rng.choice((f"What is {a} + {b} + {c}?", f"Add {a}, {b} and {c}.", f"{a} + {b} + {c} = ?")), f"{a} + {b} = {a + b}\n{a + b} + {c} = {a + b + c}\nThe answer is {a + b + c}."]
    a, b = rng.randint(2, 9), rng.randint(11, 99)
    tens, ones = b // 10 * 10, b % 10
    return [rng.choice((f"What is {b} * {a}?", f"What is {b} times {a}?", f"Calculate {b} * {a}.")),
            f"{tens} * {a} = {tens * a}\n{ones} * {a} = {ones * a}\n{tens * a} + {ones * a} = {a * b}\nThe answer is {a * b}."]
