"""Requests for short pieces of Python, each with its program."""

# what the function does (after "a Python function that"): name, parameters, body lines
FUNCTIONS = [
    ("adds two numbers", "add", "a, b", ["return a + b"]),
    ("subtracts two numbers", "subtract", "a, b", ["return a - b"]),
    ("multiplies two numbers", "multiply", "a, b", ["return a * b"]),
    ("divides two numbers", "divide", "a, b", ["return a / b"]),
    ("returns the square of a number", "square", "x", ["return x * x"]),
    ("returns the cube of a number", "cube", "x", ["return x ** 3"]),
    ("returns the larger of two numbers", "larger", "a, b", ["if a > b:", "    return a", "return b"]),
    ("returns the smaller of two numbers", "smaller", "a, b", ["if a < b:", "    return a", "return b"]),
    ("returns the maximum of a list", "maximum", "items", ["return max(items)"]),
    ("returns the minimum of a list", "minimum", "items", ["return min(items)"]),
    ("returns the sum of a list", "total", "items", ["return sum(items)"]),
    ("computes the average of a list", "average", "items", ["return sum(items) / len(items)"]),
    ("reverses a string", "reverse", "text", ["return text[::-1]"]),
    ("reverses a list", "reverse", "items", ["return items[::-1]"]),
    ("checks if a number is even", "is_even", "n", ["return n % 2 == 0"]),
    ("checks if a number is odd", "is_odd", "n", ["return n % 2 == 1"]),
    ("checks if a string is a palindrome", "is_palindrome", "text", ["return text == text[::-1]"]),
    ("checks if a number is prime", "is_prime", "n", ["if n < 2:", "    return False", "for i in range(2, n):", "    if n % i == 0:", "        return False", "return True"]),
    ("computes the factorial of a number", "factorial", "n", ["result = 1", "for i in range(2, n + 1):", "    result *= i", "return result"]),
    ("returns the nth Fibonacci number", "fibonacci", "n", ["a, b = 0, 1", "for _ in range(n):", "    a, b = b, a + b", "return a"]),
    ("counts the vowels in a string", "count_vowels", "text", ["return sum(1 for c in text.lower() if c in \"aeiou\")"]),
    ("counts the words in a text", "count_words", "text", ["return len(text.split())"]),
    ("sorts a list", "sort_list", "items", ["return sorted(items)"]),
    ("removes duplicates from a list", "unique", "items", ["return list(set(items))"]),
    ("returns the length of a string", "length", "text", ["return len(text)"]),
    ("converts a string to upper case", "upper", "text", ["return text.upper()"]),
    ("converts a string to lower case", "lower", "text", ["return text.lower()"]),
    ("greets a person by name", "greet", "name", ["return \"Hello, \" + name + \"!\""]),
    ("converts Celsius to Fahrenheit", "to_fahrenheit", "celsius", ["return celsius * 9 / 5 + 32"]),
    ("converts Fahrenheit to Celsius", "to_celsius", "fahrenheit", ["return (fahrenheit - 32) * 5 / 9"]),
    ("returns the area of a circle", "circle_area", "radius", ["return 3.14159 * radius ** 2"]),
    ("returns the area of a rectangle", "rectangle_area", "width, height", ["return width * height"]),
    ("returns the first element of a list", "first", "items", ["return items[0]"]),
    ("returns the last element of a list", "last", "items", ["return items[-1]"]),
    ("returns all even numbers of a list", "even_numbers", "items", ["return [x for x in items if x % 2 == 0]"]),
    ("joins a list of words with spaces", "join_words", "words", ["return \" \".join(words)"]),
    ("checks if a list is empty", "is_empty", "items", ["return len(items) == 0"]),
    ("returns the absolute value of a number", "absolute", "x", ["if x < 0:", "    return -x", "return x"]),
    ("finds the greatest common divisor of two numbers", "gcd", "a, b", ["while b:", "    a, b = b, a % b", "return a"]),
    ("reads a file and returns its text", "read_file", "path", ["with open(path) as file:", "    return file.read()"]),
    ("counts how often each word appears in a text", "word_counts", "text", ["counts = {}", "for word in text.split():", "    counts[word] = counts.get(word, 0) + 1", "return counts"]),
    ("returns a list of squares from 1 to n", "squares", "n", ["return [i * i for i in range(1, n + 1)]"]),
    ("finds the index of a value in a sorted list with binary search", "binary_search", "items, value",
     ["low, high = 0, len(items) - 1", "while low <= high:", "    middle = (low + high) // 2", "    if items[middle] == value:", "        return middle",
      "    if items[middle] < value:", "        low = middle + 1", "    else:", "        high = middle - 1", "return -1"]),
    ("implements FizzBuzz", "fizzbuzz", "n", ["for i in range(1, n + 1):", "    if i % 15 == 0:", "        print(\"FizzBuzz\")", "    elif i % 3 == 0:", "        print(\"Fizz\")",
     "    elif i % 5 == 0:", "        print(\"Buzz\")", "    else:", "        print(i)"]),
]

# what the program does (after "a program that"): lines
PROGRAMS = [
    ("prints hello world", ["print(\"Hello, world!\")"]),
    ("prints the numbers from 1 to {n}", ["for i in range(1, {m}):", "    print(i)"]),
    ("counts down from {n} to 1", ["for i in range({n}, 0, -1):", "    print(i)"]),
    ("asks for a name and prints a greeting", ["name = input(\"What is your name? \")", "print(\"Hello, \" + name + \"!\")"]),
    ("prints the even numbers up to {n}", ["for i in range(2, {m}, 2):", "    print(i)"]),
    ("prints the sum of the numbers from 1 to {n}", ["print(sum(range(1, {m})))"]),
    ("prints the multiplication table of {n}", ["for i in range(1, 11):", "    print({n}, \"x\", i, \"=\", {n} * i)"]),
    ("adds two numbers that the user types", ["a = int(input(\"First number: \"))", "b = int(input(\"Second number: \"))", "print(a + b)"]),
    ("prints the current date", ["import datetime", "print(datetime.date.today())"]),
    ("prints a random number from 1 to {n}", ["import random", "print(random.randint(1, {n}))"]),
    ("prints every item of a list", ["items = [\"apple\", \"banana\", \"cherry\"]", "for item in items:", "    print(item)"]),
    ("makes a list of three numbers", ["numbers = [1, 2, 3]", "print(numbers)"]),
    ("makes a dictionary", ["ages = {{\"Anna\": 30, \"Ben\": 25}}", "print(ages[\"Anna\"])"]),
]


def block(lines) -> str:
    return "```python\n" + "\n".join(lines) + "\n```"


def exchange(rng) -> list:
    if rng.random() < 0.3:
        what, lines = rng.choice(PROGRAMS)
        n = rng.choice((5, 10, 10, 20, 100))
        fill = lambda text: text.format(n=n, m=n + 1)
        ask = rng.choice(("Write a Python program that {}.", "Write a program that {}.", "Show me a short Python program that {}.",
                          "Give me Python code that {}."))
        return [ask.format(fill(what)), block(map(fill, lines))]
    what, name, params, body = rng.choice(FUNCTIONS)
    ask = rng.choice(("Write a Python function that {}.", "Write a Python function that {}.", "Write a function that {}.", "Give me a Python function that {}.",
                      "Can you write a function that {}?", "Implement a function in Python that {}.", "Show me a Python function that {}.",
                      "Write a Python function called " + name + " that {}."))
    code = block([f"def {name}({params}):", *("    " + line for line in body)])
    if rng.random() < 0.2:
        code = rng.choice(("Here is the function:\n", f"Here is a function that {what}:\n")) + code
    turns = [ask.format(what), code]
    if rng.random() < 0.25:
        turns += [rng.choice(("Explain the code.", "What does this function do?", "Can you explain it?", "How does it work?")),
                  f"The function {name} {what}."]
    return turns
