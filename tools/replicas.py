#!/usr/bin/env python3
"""Starts replicas of foretoken and a router in front of them, until it is interrupted.

  tools/replicas.py --model DIR
  tools/replicas.py --model DIR --replicas 3 --router litellm --port 8000
  tools/replicas.py --model DIR --binary FILE -- --speculative-algorithm NGRAM   flags of every replica

The router is not part of foretoken: `pip install smg` or `pip install 'litellm[proxy]'`. Its program is looked for
beside the Python that runs this, then on the path. Of LiteLLM a key is made up and printed; smg asks for none.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "default"  # of the model, at LiteLLM
START_SECONDS = 300


def program(name):
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        sys.exit(f"replicas: there is no program {name}: pip install {'litellm[proxy]' if name == 'litellm' else name}")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_up(url):
    """Whether a server says that it is ready."""
    try:
        return urllib.request.urlopen(url + "/health", timeout=5).status == 200
    except OSError:
        return False


class Process:
    """A program whose output goes to a file; it is ended with SIGTERM, and killed where that does not do."""

    def __init__(self, name, command, folder, environment=None):
        self.name, self.log = name, folder / f"{name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **(environment or {})})

    def expect(self, answer):
        """Waits for what `answer()` gives that is true."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            found = answer()
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.stop()
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {self.name} did not start:\n{self.log.read_text(errors='replace')[-3000:]}")

    def stop(self, seconds=40):
        if self.process.poll() is None:
            self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Replica(Process):
    def __init__(self, number, binary, model, flags, folder):
        super().__init__(f"replica{number}", [
            binary, "serve", "--model", model, "--port", "0", "--enable-metrics", "--enable-cache-report", *flags], folder)

    def wait(self):
        pattern = re.compile(r"Listening on (http:\S+)")
        found = self.expect(lambda: pattern.search(self.log.read_text(errors="replace")))
        self.url = found[1].replace("0.0.0.0", "127.0.0.1")
        return self


class Smg(Process):
    """Asks each replica what it is, and sends a prompt where most of its beginning was sent before.

    A replica that has more than BALANCE requests more than another gets no further ones: the router's default, 64, is more
    than a CPU works on at once.
    """

    key = None
    BALANCE = 4

    def __init__(self, urls, port, folder):
        self.url, self.count = f"http://127.0.0.1:{port}", len(urls)
        super().__init__("smg", [
            program("smg"), "launch", "--host", "127.0.0.1", "--port", str(port), "--worker-urls", *urls,
            "--policy", "cache_aware", "--balance-abs-threshold", str(self.BALANCE), "--prometheus-port", str(free_port())], folder)

    def is_ready(self):
        return json.loads(read(self.url + "/readiness") or "{}").get("healthy_workers") == self.count


class LiteLlm(Process):
    """Speaks OpenAI's protocol to each replica; tries another where one does not answer."""

    def __init__(self, urls, port, folder):
        self.url, self.key = f"http://127.0.0.1:{port}", "sk-" + secrets.token_hex(16)
        config = folder / "litellm.json"
        config.write_text(json.dumps({
            "model_list": [{"model_name": NAME, "litellm_params": {
                "model": f"openai/{NAME}", "api_base": url + "/v1", "api_key": "none"}} for url in urls],
            "router_settings": {"routing_strategy": "least-busy", "num_retries": 3, "allowed_fails": 0,
                                "cooldown_time": 10},
            "general_settings": {"master_key": self.key}}))
        super().__init__("litellm", [
            program("litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)], folder,
            {"LITELLM_LOCAL_MODEL_COST_MAP": "True"})

    def is_ready(self):
        return read(self.url + "/health/readiness") is not None


ROUTERS = {"smg": Smg, "litellm": LiteLlm}


def read(url):
    with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()
    return None


@contextlib.contextmanager
def running(router, binary, model, replicas=2, port=0, flags=()):
    """(the router, its replicas); all are ended afterwards."""
    with tempfile.TemporaryDirectory(prefix="foretoken_replicas_") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        started = [Replica(number, binary, model, flags, folder) for number in range(replicas)]
        for replica in started:
            stack.callback(replica.stop)
        for replica in started:
            replica.wait()
        front = ROUTERS[router]([replica.url for replica in started], port or free_port(), folder)
        stack.callback(front.stop)
        front.expect(front.is_ready)
        yield front, started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder, GGUF file or name of the hub")
    parser.add_argument("--replicas", type=int, default=2, metavar="N")
    parser.add_argument("--router", choices=ROUTERS, default="smg")
    parser.add_argument("--port", type=int, default=30000, help="of the router; replicas take free ones")
    parser.add_argument("--binary", default=str(ROOT / "build/release/foretoken"))
    parser.add_argument("flags", nargs="*", help="of `foretoken serve`, behind --")
    args = parser.parse_args()
    if args.replicas < 1:
        parser.error("--replicas: at least 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with running(args.router, args.binary, args.model, args.replicas, args.port, args.flags) as (front, replicas):
        for replica in replicas:
            print(f"{replica.name}: {replica.url}")
        print(f"{front.name}: {front.url}" + (f", model {NAME}, key {front.key}" if front.key else ""), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            front.process.wait()


if __name__ == "__main__":
    main()
