"""A running foretoken: started here, or one that is there already."""
import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from .faults import Fault

START_SECONDS = 600


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=1800) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Fault(f"{url} answers {error.code}: {error.read().decode(errors='replace')[:300]}") from None
    except OSError as error:
        raise Fault(f"{url} does not answer: {error}") from None


class Server:
    """What the steps ask of a server."""

    def __init__(self, url: str):
        self.url = url.rstrip("/")

    def chat_tokens(self, messages: list) -> list:
        """Messages in the model's chat template, up to where its answer begins."""
        return post(f"{self.url}/tokenize", {"messages": messages})["tokens"]

    def text_tokens(self, text: str) -> list:
        return post(f"{self.url}/tokenize", {"prompt": text})["tokens"]

    def generate(self, tokens: list, max_new_tokens: int, **sampling) -> dict:
        """-> text, output_ids, meta_info."""
        return post(f"{self.url}/generate", {"input_ids": tokens, "sampling_params": {"max_new_tokens": max_new_tokens, **sampling}})


def is_ready(url: str) -> bool:
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"{url}/v1/models", timeout=5) as answer:
            return answer.status == 200
    return False


def wait_until_ready(process, url: str, log: Path):
    begin = time.time()
    while not is_ready(url):
        if process.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines() or ["no output"]
            raise Fault(f"the server ended at its start ({log}): {lines[-1]}")
        if time.time() - begin > START_SECONDS:
            raise Fault(f"the server was not ready after {START_SECONDS} seconds ({log})")
        time.sleep(0.2)


@contextlib.contextmanager
def serve(program: str, model: str, log: Path, flags=()):
    """A server of `model` until the block ends; what it prints goes to `log`."""
    url, log = f"http://127.0.0.1:{(port := free_port())}", Path(log)
    command = [program, "serve", "--model", model, "--host", "127.0.0.1", "--port", str(port), *flags]
    with open(log, "w") as out:
        try:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=os.environ)
        except OSError as error:
            raise Fault(f"cannot start {program}: {error.strerror}") from None
    try:
        wait_until_ready(process, url, log)
        yield Server(url)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
