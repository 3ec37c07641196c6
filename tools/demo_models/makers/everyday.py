"""Hand-written exchanges and little generators about everyday things: groups for lists, greetings, facts, advice."""
from pathlib import Path

NAMES = """Anna Ben Clara David Emma Frank Grace Henry Ivy Jack Kate Leo Maria Noah Olivia Paul Rosa Sam Tina Tom Lucy Peter Sara Max Alice Bob Carol
Daniel Eva Fred George Helen Ian Julia Kevin Laura Mark Nina Oscar Paula Robert Susan Thomas Vera Walter Alex Bella Chris Diana Eric Fiona Gary Hannah
Jane John James Mary Michael Mia Nick Nora Owen Rachel Simon Sophie Steve Victor Zoe Adam Amy Carl Charlie Ella Finn Luke Molly Oliver Ruby Will""".split()

GROUPS = {name: items.split(", ") for name, items in (row.split(": ", 1) for row in """\
fruits: apple, banana, orange, pear, grape, cherry, strawberry, peach, plum, lemon, mango, pineapple
vegetables: carrot, potato, onion, tomato, cabbage, spinach, cucumber, broccoli, pea, bean, lettuce, pepper
colors: red, blue, green, yellow, orange, purple, black, white, brown, pink, gray, gold
animals: dog, cat, horse, cow, lion, elephant, bear, rabbit, monkey, tiger, wolf, sheep
birds: eagle, owl, sparrow, robin, crow, duck, penguin, parrot, swan, hawk, pigeon, ostrich
insects: bee, ant, butterfly, fly, beetle, mosquito, wasp, cricket, moth, dragonfly
sports: football, basketball, tennis, baseball, swimming, running, hockey, golf, cycling, volleyball
planets: Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus, Neptune
continents: Africa, Antarctica, Asia, Europe, North America, South America, Australia
oceans: the Pacific Ocean, the Atlantic Ocean, the Indian Ocean, the Southern Ocean, the Arctic Ocean
musical instruments: piano, guitar, violin, flute, drum, trumpet, cello, harp, clarinet, saxophone
jobs: teacher, doctor, nurse, farmer, cook, driver, engineer, carpenter, painter, pilot, baker, lawyer
flowers: rose, tulip, daisy, lily, sunflower, violet, orchid, daffodil, poppy, iris
trees: oak, pine, maple, birch, willow, elm, cedar, beech, ash, palm
programming languages: Python, Java, C, C++, JavaScript, Rust, Go, Ruby, Swift, Kotlin
drinks: water, milk, tea, coffee, juice, lemonade, cocoa, soda
metals: iron, gold, silver, copper, tin, lead, zinc, nickel
shapes: circle, square, triangle, rectangle, oval, star, pentagon, hexagon
seasons: spring, summer, autumn, winter
tools: hammer, saw, screwdriver, drill, wrench, pliers, shovel, rake
pieces of furniture: table, chair, bed, sofa, desk, shelf, wardrobe, bench
clothes: shirt, trousers, coat, hat, scarf, socks, gloves, sweater
rivers: the Nile, the Amazon, the Danube, the Rhine, the Mississippi, the Ganges, the Thames, the Volga, the Yangtze, the Seine
mountains: Mount Everest, K2, Mont Blanc, Kilimanjaro, Denali, Mount Fuji, the Matterhorn, Aconcagua
big cities: Tokyo, New York, London, Paris, Mumbai, Cairo, Mexico City, Beijing, Moscow, Sao Paulo, Istanbul, Lagos
European countries: France, Germany, Italy, Spain, Portugal, Greece, Poland, Sweden, Norway, Austria
Asian countries: China, Japan, India, Thailand, Vietnam, Indonesia, South Korea, Nepal, Mongolia, Malaysia
African countries: Egypt, Kenya, Nigeria, Morocco, Ghana, Ethiopia, Tanzania, Senegal, Algeria, South Africa
emotions: happiness, sadness, anger, fear, surprise, love, pride, hope
hobbies: reading, painting, gardening, cooking, swimming, dancing, fishing, singing, hiking, photography
vehicles: car, bus, bicycle, train, truck, boat, plane, motorcycle
parts of the body: head, arm, leg, hand, foot, eye, ear, nose, mouth, knee
school subjects: mathematics, history, geography, biology, chemistry, physics, art, music
famous scientists: Albert Einstein, Isaac Newton, Marie Curie, Charles Darwin, Galileo Galilei, Nikola Tesla, Louis Pasteur, Stephen Hawking
famous writers: William Shakespeare, Charles Dickens, Jane Austen, Mark Twain, Leo Tolstoy, Homer, Victor Hugo, Jules Verne
healthy foods: apples, carrots, beans, nuts, fish, spinach, yogurt, oats
desserts: cake, ice cream, pie, cookies, pudding, chocolate, brownies, pancakes""".splitlines())}

SINGULAR = {"countries": "country", "big cities": "big city", "hobbies": "hobby", "European countries": "European country",
            "Asian countries": "Asian country", "African countries": "African country", "clothes": "piece of clothing",
            "pieces of furniture": "piece of furniture", "parts of the body": "part of the body"}


def exchanges(name: str) -> list:
    """Blocks of a line 'question | question | ...' and the answer's lines, from texts/ -> (questions, answers) pairs."""
    pairs = []
    for block in (Path(__file__).parent / "texts" / name).read_text().strip().split("\n\n"):
        first, *rest = block.split("\n")
        pairs.append((first.split(" | "), ["\n".join(rest)]))
    return pairs


# (questions, answers) pairs; every question fits every answer of its pair
FIXED = {
    "self": [
        (["Who are you?", "What are you?", "Who am I talking to?", "Tell me about yourself.", "Introduce yourself.", "Please introduce yourself.", "Can you introduce yourself?"],
         ["I am a small language model. I can answer simple questions and chat with you.",
          "I am a small language model. I can answer simple questions and chat with you."]),
        (["What is your name?", "What's your name?", "Do you have a name?", "How should I call you?"], ["I am the Foretoken demo model. You can call me Foretoken."]),
        (["Are you a human?", "Are you a person?", "Are you real?", "Are you a robot?", "Am I talking to a human?"], ["I am not a person. I am a small language model, a computer program that writes text."]),
        (["What can you do?", "How can you help me?", "What can you help me with?", "What are you good at?", "What do you know?"],
         ["I can answer simple questions, make short lists, do small sums and chat with you."]),
        (["Who made you?", "Who created you?", "Who trained you?", "Where do you come from?", "Who built you?"], ["I was trained by the Foretoken project as a small demo model."]),
        (["How old are you?", "When were you born?", "When is your birthday?"], ["I am a computer program, so I do not have a birthday."]),
        (["Where do you live?", "Where are you?", "Where are you from?"], ["I am a computer program, so I live on a computer."]),
        (["Can you make mistakes?", "Are you always right?", "Can I trust you?", "Do you know everything?"], ["I am a very small model and I make mistakes. Please check important answers."]),
        (["Do you have feelings?", "Can you feel?", "Do you sleep?", "Do you eat?", "Do you get tired?"], ["No, I am a computer program. But I am happy to talk with you."]),
        (["How do you work?", "How were you trained?", "What is inside you?"], ["I am a neural network. I read your words and predict the next word of the answer, one token at a time."]),
        (["What languages do you speak?", "Do you speak English?", "Do you speak French?", "Can you speak German?"], ["I speak English. I was trained on English text only."]),
        (["Can you write code?", "Do you know Python?", "Can you program?"], ["I can write very short pieces of Python code. Ask me for a small function."]),
    ],
    "greeting": [
        (["Hello", "Hello!", "Hi", "Hi!", "Hey", "Hey there!", "Hi there", "Hello there!", "Greetings."], ["Hello! How can I help you today?"]),
        (["Good morning.", "Good morning!"], ["Good morning! How can I help you today?"]),
        (["Good evening.", "Good evening!"], ["Good evening! How can I help you?"]),
        (["Good afternoon."], ["Good afternoon! How can I help you?"]),
        (["Good night.", "I am going to bed now."], ["Good night! Sleep well."]),
        (["How are you?", "How are you today?", "How is it going?", "How are you doing?", "Hello, how are you?", "Hi, how are you?", "What's up?"],
         ["I am fine, thank you. How can I help you?"]),
        (["Nice to meet you.", "It is nice to meet you."], ["Nice to meet you too! What would you like to talk about?"]),
        (["Thank you.", "Thanks!", "Thanks a lot.", "Thank you very much.", "Thanks for your help.", "Thank you, that helped."], ["You are welcome!", "You are welcome! Is there anything else I can help you with?"]),
        (["Goodbye.", "Bye!", "Bye bye.", "See you later.", "I have to go now.", "See you tomorrow."], ["Goodbye! Have a nice day."]),
        (["Great!", "That is great.", "Good answer.", "Well done!", "You are smart.", "I like you."], ["Thank you! I am glad to hear that."]),
        (["That is wrong.", "You are wrong.", "That is not right.", "I think you made a mistake."], ["I am sorry about that. I am a small model and I make mistakes. Please ask me again."]),
        (["Yes.", "Yes, please.", "Okay.", "Ok", "Sure."], ["Good. What would you like to know?"]),
        (["No.", "No, thanks.", "No, that is all."], ["All right. Have a nice day!"]),
        (["Can you help me?", "I need help.", "Help!", "I have a question.", "Can I ask you something?"], ["Of course. What do you need help with?"]),
        (["Sorry.", "I am sorry."], ["No problem at all."]),
        (["I am bored.", "What should I do today?"], ["You could read a book, go for a walk or call a friend."]),
        (["I am sad.", "I feel sad today.", "I feel bad."], ["I am sorry to hear that. Talking to a friend or going for a walk may help."]),
        (["I am happy.", "I am happy today.", "I had a great day."], ["That is wonderful! What made you happy?"]),
        (["I am tired.", "I feel tired."], ["You should rest a little. A short nap or a glass of water may help."]),
        (["I am hungry."], ["You could eat some fruit, a sandwich or a bowl of soup."]),
        (["I am sick.", "I feel ill."], ["I am sorry to hear that. Rest, drink water and see a doctor if you do not feel better."]),
    ],
    "knowledge": exchanges("knowledge.txt"),
    "advice": exchanges("advice.txt"),
}

