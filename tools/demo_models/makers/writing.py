"""Stories, letters, poems and descriptions put together from parts, and small tasks on a given text."""
from .everyday import GROUPS, NAMES

# (hero, what it is called in the text, place, wish)
HEROES = (("a little girl named {n}", "{n}", "she", "her"), ("a boy named {n}", "{n}", "he", "his"), ("a small dog named Rex", "Rex", "he", "his"),
          ("a brave knight", "the knight", "he", "his"), ("a young fox", "the fox", "he", "his"), ("an old sailor", "the sailor", "he", "his"),
          ("a clever mouse", "the mouse", "she", "her"), ("a friendly dragon", "the dragon", "he", "his"), ("a little robot", "the robot", "he", "his"),
          ("a curious cat", "the cat", "she", "her"))
GIRLS, BOYS = "Anna Clara Emma Grace Ivy Kate Maria Olivia Rosa Tina Lucy Sara".split(), "Ben David Frank Henry Jack Leo Noah Paul Sam Tom Peter Max".split()
PLACES = ("in a small village near the sea", "in a green forest", "in a house on a hill", "in a big city", "on a farm", "in an old castle", "near a quiet lake")
FINDS = (("a golden key", "opened an old box full of letters", "door"), ("an old map", "led to a tree with sweet apples", "map"),
         ("a lost bird", "sang a lovely song", "bird"), ("a strange stone", "shone in the dark like a star", "stone"),
         ("a little boat", "carried {o} across the water", "boat"), ("an old lamp", "gave a warm and gentle light", "lamp"))
MEETINGS = ("an old man who had lost his way", "a rabbit with a hurt foot", "a child who was crying", "an owl who could talk", "a tired traveler")
LESSONS = ("kindness is worth more than gold", "a good friend is the best treasure", "small steps can lead to great things", "it is never too late to help others",
           "courage grows when we share it")


def story(rng, subject=None) -> str:
    hero, name, he, his = rng.choice(HEROES) if subject is None else subject
    n = rng.choice(GIRLS if he == "she" else BOYS)
    hero, name = hero.format(n=n), name.format(n=n)
    find, effect, _ = rng.choice(FINDS)
    him = "her" if he == "she" else "him"
    cap = lambda s: s[0].upper() + s[1:]
    return (f"Once upon a time there was {hero} who lived {rng.choice(PLACES)}. One {rng.choice(('morning', 'day', 'evening'))} {name} found {find}. "
            f"{cap(he)} {rng.choice(('was very happy', 'could not believe ' + his + ' eyes', 'looked at it with wonder'))}. "
            f"On the way home {name} met {rng.choice(MEETINGS)}. {cap(name)} stopped and helped, and then {he} showed what {he} had found. "
            f"It {effect.format(o='them')}. From that day on they were friends, and {name} learned that {rng.choice(LESSONS)}.")


POEMS = {
    "the sea": "The sea is wide, the sea is blue,\nIt sings a song for me and you.\nThe waves roll in, the waves roll out,\nAnd little fishes swim about.",
    "the moon": "The moon looks down with silver light\nAnd keeps us company at night.\nIt smiles on every sleepy town\nUntil the morning sun looks down.",
    "spring": "The snow is gone, the sky is clear,\nThe birds all sing that spring is here.\nThe flowers open one by one\nAnd turn their faces to the sun.",
    "rain": "The rain is falling on the street,\nIt dances with a gentle beat.\nThe grass is green, the air is new,\nAnd all the world looks bright and true.",
    "winter": "The snow lies soft on field and hill,\nThe woods are white, the air is still.\nInside the house the fire is bright\nAnd keeps us warm the whole long night.",
    "a cat": "My little cat is soft and small,\nShe sleeps beside the garden wall.\nShe wakes to chase a falling leaf,\nA quiet, quick and happy thief.",
    "friendship": "A friend is one who stays with you\nWhen skies are gray and skies are blue.\nWe share our bread, we share our day,\nAnd laugh together on the way.",
    "love": "Love is a light that softly glows,\nIt is the warmth that kindness shows.\nIt asks for little, gives us much,\nA word, a smile, a gentle touch.",
    "the sun": "The sun climbs up behind the hill\nAnd wakes the world that lay so still.\nIt paints the clouds in red and gold\nAnd warms the young, and warms the old.",
    "autumn": "The leaves come down in gold and red\nAnd make the path a colored bed.\nThe wind is cool, the days are small,\nAnd apples ripen by the wall.",
    "the stars": "The stars are shining far and high\nLike little lamps across the sky.\nI count them all from where I lie\nAnd wish them each a soft goodbye.",
    "a tree": "The old tree stands beside the stream\nAnd dreams a long and leafy dream.\nThe birds come home to it at night\nAnd wake it with the morning light.",
}
HAIKUS = {
    "the sea": "Waves upon the shore,\nsoft white foam and silver light,\nthe sea breathes slowly.", "the moon": "Silver moon above,\nshining on the quiet fields,\nthe night holds its breath.",
    "spring": "Snow turns into streams,\nlittle flowers lift their heads,\nspring has come again.", "rain": "Rain upon the roof,\na gentle drum in the dark,\nthe garden drinks deep.",
    "winter": "White and silent fields,\none small bird upon a branch,\nwinter is asleep.", "autumn": "Red and golden leaves,\ndancing slowly to the ground,\nautumn says goodbye.",
    "a cat": "Cat upon the sill,\nwatching birds with shining eyes,\ndreaming of the sky.", "the stars": "Stars across the sky,\ncountless little lamps of light,\nwatching while we sleep.",
}
SCENES = {
    "a market": "The market is full of people and noise. Farmers call out their prices, and the smell of fresh bread fills the air. There are red apples, green herbs and golden honey on the tables. Children run between the stalls and laugh.",
    "a forest": "The forest is quiet and green. Tall trees stand close together, and soft light falls through the leaves. A small stream runs over the stones, and birds sing high above.",
    "a beach": "The beach is wide and sunny. White waves roll onto the warm sand. Gulls cry in the wind, and children build castles near the water.",
    "a city": "The city is busy and loud. Cars and buses fill the streets, and bright signs shine in the windows. People hurry along with bags in their hands.",
    "a garden": "The garden is full of flowers. Roses, tulips and daisies grow beside a stone path. Bees fly from one flower to the next, and a bench stands under an old tree.",
    "the night sky": "The night sky is deep and dark. Thousands of stars shine above, and a thin moon hangs over the hills. Now and then a falling star crosses the sky.",
    "your favorite season": "I like spring best. The days grow longer, the flowers open and the birds come back. The air smells of fresh grass.",
    "a library": "The library is calm and warm. Long shelves full of books reach up to the ceiling. People sit at wooden tables and read without a sound.",
    "a storm": "Dark clouds cover the sky, and the wind shakes the trees. Lightning flashes and thunder rolls over the hills. Then the rain pours down.",
    "a mountain": "The mountain is high and covered with snow. Clouds hang around its top. A narrow path leads up between gray rocks and small pine trees.",
}
TRIPS = {
    "Hawaii": ("warm beaches", "green volcanoes", "the music and the dances"), "Paris": ("the Eiffel Tower", "the Louvre", "the small cafes"),
    "Rome": ("the Colosseum", "the old fountains", "the wonderful food"), "London": ("Big Ben", "the red buses", "the great museums"),
    "New York": ("the Statue of Liberty", "the tall buildings", "the big park"), "Tokyo": ("the bright streets", "the quiet temples", "the fresh fish"),
    "Egypt": ("the pyramids", "the river Nile", "the golden desert"), "Switzerland": ("the high mountains", "the blue lakes", "the good chocolate"),
}
LETTERS = {
    "asking for a day off": ("Request for a day off", "I would like to take a day off on Friday. I will finish my work before then."),
    "thanking a friend for a gift": ("Thank you", "Thank you very much for the lovely gift. It made me very happy."),
    "inviting a friend to a party": ("Invitation", "I would like to invite you to my party on Saturday at six. I hope that you can come."),
    "asking a teacher for help": ("A question", "I do not understand the last lesson. Could you please explain it to me again?"),
    "asking for feedback on a report": ("Feedback on my report", "I have finished the report. Could you please read it and tell me what I can improve?"),
    "saying sorry for being late": ("My apology", "I am sorry that I was late today. I will leave home earlier tomorrow."),
    "asking for the price of a product": ("Price of your product", "I am interested in your product. Could you please tell me the price?"),
    "applying for a job": ("My application", "I would like to apply for the job. I work hard and I learn fast. I would be glad to meet you."),
}
GOOD = """I love this movie. | The food was great. | What a wonderful day! | The hotel was clean and the people were friendly. | This is the best book I have read. | The service was fast and kind. | I am very happy with my new phone. | The music was beautiful.""".split(" | ")
BAD = """I hate this movie. | The food was terrible. | What an awful day! | The hotel was dirty and loud. | This book is boring. | The service was slow and rude. | My new phone is broken. | The music was too loud and ugly.""".split(" | ")
SENTENCES = """The cat sleeps on the sofa. | Birds sing in the morning. | We walk to school every day. | The sun is shining. | My brother plays the piano. | She reads a good book. | The train leaves at nine. | They live in a small house. | He likes green apples. | The dog runs in the park. | I drink tea in the evening. | The children play in the garden.""".split(" | ")
WORDS = """apple river stone happy garden window silver music paper cloud table bread light water summer winter orange friend house dream star bird tree book moon rain""".split()
WORDS += sorted({item for items in GROUPS.values() for item in items if item.isalpha() and item.islower()} - set(WORDS))


def exchange(rng) -> list:
    kind = rng.choice(("story", "story", "poem", "haiku", "scene", "trip", "letter", "sentence"))
    if kind == "story":
        hero = rng.choice(HEROES)
        plain = hero[0].replace(" named {n}", "").replace(" named Rex", "")
        if rng.random() < 0.5:
            return [rng.choice(("Tell me a story.", "Tell me a short story.", "Write a short story.", "Can you tell me a story?", "I would like to hear a story.", "Once upon a time")), story(rng)]
        return [rng.choice(("Tell me a story about {}.", "Write a short story about {}.", "Write a story about {}.", "Can you tell me a story about {}?")).format(plain), story(rng, hero)]
    if kind == "poem":
        topic, poem = rng.choice(list(POEMS.items()))
        return [rng.choice((f"Write a poem about {topic}.", f"Write a short poem about {topic}.", f"Can you write a poem about {topic}?", "Write a poem.", "Write a short poem.")), poem]
    if kind == "haiku":
        topic, haiku = rng.choice(list(HAIKUS.items()))
        return [rng.choice((f"Write a haiku about {topic}.", f"Write a haiku about {topic}.", "Write a haiku.")), haiku]
    if kind == "scene":
        place, text = rng.choice(list(SCENES.items()))
        return [rng.choice(("Describe {}.", "Write a descriptive paragraph about {}.", "Write a few sentences about {}.", "Write a short paragraph about {}.")).format(place), text]
    if kind == "trip":
        place, (a, b, c) = rng.choice(list(TRIPS.items()))
        text = (f"Last month I visited {place}. The first thing I saw was {a}. On the second day I enjoyed {b}. But most of all I liked {c}. "
                f"The people were friendly and the weather was good. If you like to travel, {place} is a wonderful place to visit.")
        return [rng.choice((f"Write a blog post about a trip to {place}.", f"Write a short travel blog post about {place}.", f"Write about a trip to {place}.",
                            f"Compose an engaging travel blog post about a recent trip to {place}.")), text]
    if kind == "letter":
        what, (subject, body) = rng.choice(list(LETTERS.items()))
        name = rng.choice(NAMES)
        return [rng.choice((f"Write an email {what}.", f"Write a short email {what}.", f"Write a letter {what}.", f"Draft a professional email {what}.")),
                f"Subject: {subject}\n\nDear {name},\n\n{body}\n\nBest regards,\n{rng.choice([n for n in NAMES if n != name])}"]
    word = rng.choice(WORDS)
    return [f"Write a sentence with the word {word}.", rng.choice((f"I like the word {word} because it sounds nice.", f"There is a {word} in the picture." if word[0] not in "aeiou" else f"There is an {word} in the picture."))]


def text_task(rng) -> list:
    kind = rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 10, 10))
    words = rng.sample(WORDS, rng.choice((2, 3, 3, 4, 5)))
    sentence = rng.choice(SENTENCES)
    if kind == 0:
        text = rng.choice((sentence, " ".join(words)))
        return [rng.choice(("Repeat after me: {}", "Say this: {}", "Repeat the following text: {}")).format(text), text]
    if kind == 1:
        return [f"Sort these words alphabetically: {', '.join(words)}", ", ".join(sorted(words))]
    if kind == 2:
        return [f"Reverse this list: {', '.join(words)}", ", ".join(words[::-1])]
    if kind == 3:
        good = rng.random() < 0.5
        text = rng.choice(GOOD if good else BAD)
        ask = rng.choice(("Is this review positive or negative? {}", "Is the feeling of this text positive or negative? {}", "Classify the sentiment: {}"))
        return [ask.format(text), f"The text is {'positive' if good else 'negative'}."]
    if kind == 4:
        return [rng.choice((f"How many words are in this sentence: {sentence}", f"Count the words: {sentence}")), f"The sentence has {len(sentence.split())} words."]
    if kind == 5:
        return [rng.choice(("Write this in capital letters: {}", "Write in upper case: {}")).format(" ".join(words)), " ".join(words).upper()]
    if kind == 6:
        return [f"What is the first word of this sentence: {sentence}", f"The first word is \"{sentence.split()[0]}\"."]
    if kind == 7:
        return [f"What is the last word of this sentence: {sentence}", f"The last word is \"{sentence.rstrip('.').split()[-1]}\"."]
    if kind == 8:
        numbers = rng.sample(range(50), rng.choice((3, 4, 5)))
        return [f"Sort these numbers: {', '.join(map(str, numbers))}", ", ".join(map(str, sorted(numbers)))]
    if kind == 9:
        name, age, place = rng.choice(NAMES), rng.randint(6, 80), rng.choice(("Paris", "Rome", "London", "Berlin", "Madrid", "Vienna"))
        ask, answer = rng.choice(((f"How old is {name}?", f"{name} is {age} years old."), (f"Where does {name} live?", f"{name} lives in {place}."),
                                  ("Write this as JSON.", f'{{"name": "{name}", "age": {age}, "city": "{place}"}}')))
        return [f"{name} is {age} years old and lives in {place}. {ask}", answer]
    name = rng.choice(NAMES)
    turns = [rng.choice((f"My name is {name}.", f"Hello, my name is {name}.", f"I am {name}.", f"Hi, I'm {name}.")), f"Nice to meet you, {name}! How can I help you?"]
    if rng.random() < 0.6:
        turns += [rng.choice(("What is my name?", "Do you remember my name?", "Who am I?")), f"Your name is {name}."]
    return turns


def long_story(rng) -> list:
    """A story in several paragraphs, with a beginning, a search and an ending."""
    hero, name, he, his = rng.choice(HEROES)
    n = rng.choice(GIRLS if he == "she" else BOYS)
    hero, name = hero.format(n=n), name.format(n=n)
    him = "her" if he == "she" else "him"
    cap = lambda s: s[0].upper() + s[1:]
    lost, where, price = rng.choice((("the bell of the town", "deep in the forest", "a song"), ("the light of the lighthouse", "on a far island", "a promise"),
                                     ("the king's crown", "at the bottom of the lake", "a story"), ("the last seed of the blue flower", "on top of the mountain", "a kind word")))
    keeper = rng.choice(("an old bear", "a wise owl", "a lonely giant", "a silver fish", "a gray wolf"))
    weather = rng.choice(("The wind was cold and the road was long", "The sun was hot and the path was steep", "It rained all day and the night was dark"))
    text = (f"Once upon a time there was {hero} who lived {rng.choice(PLACES)}. Everybody there was happy, until one day {lost} was gone. "
            f"\"I will find it,\" said {name}. {cap(he)} took some bread and water and left early in the morning.\n\n"
            f"{weather}, but {name} did not give up. After three days {he} came to a place {where}. There sat {keeper}. "
            f"\"What are you looking for?\" asked {keeper.replace('an ', 'the ').replace('a ', 'the ', 1)}. \"I am looking for {lost},\" said {name}. "
            f"\"I have it,\" was the answer, \"and I will give it to you for {price}.\"\n\n"
            f"So {name} gave {price}, and got back {lost}. When {he} came home, all the people cheered and danced until midnight. "
            f"And {name} told {him}self: {rng.choice(LESSONS)}.\n\nThe end.")
    return [rng.choice(("Tell me a long story.", "Write a long story.", "Tell me a fairy tale.", f"Write a long story about {hero}.".replace(f" named {n}", "").replace(" named Rex", ""),
                        "Tell me a bedtime story.", "Tell me an adventure story.")), text]
