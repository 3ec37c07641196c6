"""A server of a model that says one word after another: enough of foretoken's routes for the steps that ask one.

Tokens are the code points of the prompt; an answer is three tokens that depend on the prompt and the seed.
"""
import http.server
import json
import threading


def chat(messages):
    return "".join(f"<{m['role']}>{m['content']}" for m in messages) + "<assistant>"


class FakeServer:
    def __init__(self):
        self.generated = []  # bodies of /generate
        self.fault = None  # (status, text) of every answer
        self.finish = "stop"
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, text = outer.fault or (200, json.dumps(outer.answer(self.path, body)))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, path, body):
        if path == "/tokenize":
            prompt = chat(body["messages"]) if "messages" in body else body["prompt"]
            return {"prompt": prompt, "tokens": [ord(c) for c in prompt]}
        self.generated.append(body)
        seed = body["sampling_params"].get("sampling_seed", 0)
        said = [1000 + len(body["input_ids"]), 2000 + seed, 2]
        return {"text": f" word {seed} of some answer", "output_ids": said,
                "meta_info": {"completion_tokens": len(said), "finish_reason": {"type": self.finish}}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
