"""Output bound to schemas and grammars: the openai package, and SGLang's and vLLM's fields."""

import concurrent.futures
import json
import random
import re
import typing
import unittest

import jsonschema
import openai
import pydantic

from server import ServerCase


# Bounded, because a small model may find no end of its own.
Word = typing.Annotated[str, pydantic.Field(max_length=12)]


class Person(pydantic.BaseModel):
    name: Word
    age: int = pydantic.Field(ge=0, le=150)
    colours: list[Word] = pydantic.Field(min_length=1, max_length=3)


def random_schema(dice, depth):
    """A schema whose answers are short."""
    kind = dice.randrange(7 if depth > 0 else 5)
    if kind == 0:
        return {"type": "boolean"}
    if kind == 1:
        least = dice.randrange(100)
        return {"type": "integer", "minimum": least, "maximum": least + dice.randrange(1000)}
    if kind == 2:
        return {"type": "string", "minLength": dice.randrange(3), "maxLength": 3 + dice.randrange(8)}
    if kind == 3:
        return {"enum": [dice.choice(["red", "green", None, 4, "a \"b\""]), "blue"]}
    if kind == 4:
        return {"type": "string", "pattern": "^[a-c]{1,4}-[0-9]{2}$"}
    if kind == 5:
        return {"type": "array", "items": random_schema(dice, depth - 1),
                "minItems": dice.randrange(2), "maxItems": 2}
    names = dice.sample(["name", "size", "on", "to", "id", "x/y"], 1 + dice.randrange(3))
    return {"type": "object",
            "properties": {name: random_schema(dice, depth - 1) for name in names},
            "required": [name for name in names if dice.random() < 0.7],
            "additionalProperties": False}


class StructuredTest(ServerCase):
    def schema_chat(self, schema, **kwargs):
        kwargs.setdefault("max_tokens", 800)
        answer = self.chat("Fill in the form.", response_format={
            "type": "json_schema", "json_schema": {"name": "form", "schema": schema}}, **kwargs)
        return answer.choices

    def test_parse(self):
        answer = self.client.chat.completions.parse(
            model=self.model, messages=[{"role": "user", "content": "Describe a person."}],
            response_format=Person, temperature=0, max_tokens=800)
        person = answer.choices[0].message.parsed
        self.assertIsInstance(person, Person)
        self.assertEqual(answer.choices[0].finish_reason, "stop")

    def test_stream(self):
        kwargs = {"temperature": 1, "seed": 4, "max_tokens": 800}
        whole = self.schema_chat(Person.model_json_schema(), **kwargs)[0].message.content
        chunks = self.chat("Fill in the form.", stream=True, response_format={
            "type": "json_schema",
            "json_schema": {"name": "form", "schema": Person.model_json_schema()}}, **kwargs)
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        self.assertEqual(text, whole)
        Person.model_validate_json(text)

    def test_json_object(self):
        answer = self.chat(response_format={"type": "json_object"}, temperature=0.7, seed=2,
                           max_tokens=200).choices[0]
        self.assertTrue(answer.message.content.startswith("{"))
        if answer.finish_reason == "stop":
            self.assertIsInstance(json.loads(answer.message.content), dict)

    def test_random_schemas_many_at_once(self):
        dice = random.Random(1)
        schemas = [random_schema(dice, 2) for _ in range(64)]

        def ask(number):
            schema = schemas[number % len(schemas)]
            choice, = self.schema_chat(schema, temperature=number % 2, seed=number)
            self.assertEqual(choice.finish_reason, "stop", (schema, choice.message.content))
            jsonschema.validate(json.loads(choice.message.content), schema)
            return choice.message.content

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            self.assertEqual(len(list(pool.map(ask, range(128)))), 128)

    def test_choices_seeds_and_logprobs(self):
        answer = self.chat("Yes or no?", extra_body={"guided_choice": ["yes", "no"]}, n=4,
                           temperature=1, seed=3, logprobs=True, top_logprobs=2)
        for choice in answer.choices:
            self.assertIn(choice.message.content, ("yes", "no"))
            for token in choice.logprobs.content:
                self.assertLessEqual(token.logprob, 0)

    def test_regular_expressions_and_grammars(self):
        for fields, pattern in [
                ({"regex": "[0-9]{3}-[0-9]{4}"}, "[0-9]{3}-[0-9]{4}"),
                ({"ebnf": 'root ::= "(" root ")" | [a-z]{2}'}, r"\(*[a-z]{2}\)*"),
                ({"structured_outputs": {"regex": "ab+c"}}, "ab+c"),
                ({"guided_grammar": 'root ::= "x" [0-9]'}, "x[0-9]")]:
            choice = self.chat(extra_body=fields, temperature=0.8, seed=1, max_tokens=100).choices[0]
            if choice.finish_reason == "stop":
                self.assertTrue(re.fullmatch(pattern, choice.message.content), choice)

    def test_native_route(self):
        reply = self.post("/generate", {"text": "A number:", "sampling_params": {
            "json_schema": json.dumps({"type": "integer", "minimum": 10, "maximum": 99}),
            "max_new_tokens": 20}})
        self.assertEqual(reply.status_code, 200, reply.text)
        self.assertTrue(10 <= json.loads(reply.json()["text"]) <= 99)

    def test_speculation_shows_in_no_byte(self):
        """Where the server drafts, the request may forbid it."""
        for number in range(6):
            texts = {self.schema_chat(Person.model_json_schema(), temperature=number % 2,
                                      seed=number, extra_body={"speculative": wish})[0].message.content
                     for wish in ({"enabled": False}, {"enabled": True})}
            self.assertEqual(len(texts), 1, texts)

    def test_what_cannot_be_used_is_refused_with_its_place(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.schema_chat({"properties": {"a": {"not": {"type": "null"}}}})
        self.assertIn('the keyword "not" is not supported (at /properties/a)',
                      caught.exception.message)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(extra_body={"regex": "(", "max_tokens": 5})
        self.assertIn("regex cannot be used", caught.exception.message)

    def test_hostile_schemas_change_no_other_answer(self):
        parts = [{"type": "object", "patternProperties": {f"^{i}x.*y.*z$": {}, f"^{i}y.*z.*x$": {}}} for i in range(16)]
        chain = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)}
        hostile = [
            {"enum": [f"v{i:06d}" for i in range(30000)]},
            {"allOf": [{"anyOf": parts}] * 3},
            {"allOf": [{"type": "integer", "multipleOf": prime} for prime in (7, 11, 13, 17, 19, 23, 29)]},
            {"$ref": "#/$defs/d0", "$defs": {**chain, "d60": {"type": "object"}}},
            {"type": "string", "minLength": 10**9},
            {"type": "string", "pattern": "^(a{1000}){1000}$"},
            {"properties": {f"p{i}": {} for i in range(13000)}},
            {"oneOf": [{"type": "object", "properties": {"k": {"const": f"c{i}"}}, "required": ["k"]}
                       for i in range(3000)]}]

        def ask(schema):
            return self.post("/v1/chat/completions", {
                "model": self.model, "messages": [{"role": "user", "content": "Go."}], "max_tokens": 8,
                "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}})

        alone = self.schema_chat(Person.model_json_schema(), temperature=1, seed=9)[0].message.content
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            asked = [pool.submit(ask, schema) for schema in hostile * 2]
            others = [pool.submit(self.schema_chat, Person.model_json_schema(), temperature=1, seed=9)
                      for _ in range(8)]
            for other in others:
                self.assertEqual(other.result()[0].message.content, alone)
            for number, reply in enumerate(asked):
                self.assertIn(reply.result().status_code, (200, 400), hostile[number % len(hostile)])


if __name__ == "__main__":
    unittest.main()
