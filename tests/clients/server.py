"""The server under test, named by FORETOKEN_URL."""

import os
import unittest

import openai
import requests

URL = os.environ.get("FORETOKEN_URL", "http://127.0.0.1:30000")


class ServerCase(unittest.TestCase):
    """A test case with a client of the openai package and shorthands for requests."""

    @classmethod
    def setUpClass(cls):
        cls.client = openai.OpenAI(base_url=URL + "/v1", api_key="None", max_retries=0)
        cls.model = cls.client.models.list().data[0].id

    def post(self, path, body, **kwargs):
        return requests.post(URL + path, json=body, timeout=120, **kwargs)

    def get(self, path, **kwargs):
        return requests.get(URL + path, timeout=30, **kwargs)

    def chat(self, content="List 3 countries and their capitals.", **kwargs):
        kwargs.setdefault("temperature", 0)
        kwargs.setdefault("max_tokens", 64)
        return self.client.chat.completions.create(
            model=self.model, messages=[{"role": "user", "content": content}], **kwargs)
