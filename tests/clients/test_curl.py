"""curl: streams, chunked uploads, expectations, many transfers on one connection."""

import json
import shutil
import subprocess
import unittest

from server import URL, ServerCase


@unittest.skipUnless(shutil.which("curl"), "there is no curl")
class CurlTest(ServerCase):
    def curl(self, *arguments, stdin=None):
        done = subprocess.run(["curl", "-sS", "-m", "60", "-H", "Content-Type: application/json",
                               *arguments], input=stdin,
                              capture_output=True, check=True)
        return done.stdout.decode()

    def test_stream(self):
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "stream": True,
                           "max_tokens": 8})
        out = self.curl("-N", URL + "/v1/chat/completions", "-d", body)
        events = [line[6:] for line in out.splitlines() if line.startswith("data: ")]
        self.assertEqual(events[-1], "[DONE]")
        for event in events[:-1]:
            json.loads(event)

    def test_a_large_body_is_expected_and_refused_by_length(self):
        body = json.dumps({"text": "a " * 1000000})
        out = self.curl("-H", "Expect: 100-continue", URL + "/generate", "-d", "@-",
                        stdin=body.encode())
        self.assertIn("context length", json.loads(out)["error"]["message"])

    def test_chunked_upload(self):
        out = self.curl("-H", "Transfer-Encoding: chunked", URL + "/generate", "-d", "@-",
                        stdin=b'{"text":"a","sampling_params":{"max_new_tokens":1}}')
        self.assertEqual(json.loads(out)["meta_info"]["completion_tokens"], 1)

    def test_head_and_options(self):
        self.assertIn("200", self.curl("-I", URL + "/v1/models").splitlines()[0])
        self.assertIn("allow:", self.curl("-i", "-X", "OPTIONS", URL + "/generate"))

    def test_one_connection_for_many(self):
        out = self.curl("-v", "--stderr", "-", *[URL + "/v1/models"] * 3)
        self.assertIn("Re-using existing connection", out)


if __name__ == "__main__":
    unittest.main()
