"""The program as a server of a test: started on a free port, waited for until it answers, ended."""
import contextlib
import socket
import subprocess
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_ready(url):
    """Whether the server says that it is healthy."""
    try:
        with urllib.request.urlopen(url + "/health", timeout=60) as reply:
            return reply.status == 200
    except OSError:
        return False


def wait_until_ready(url, process, seconds=120):
    """Until `process` answers; fails where it ends before."""
    last = time.monotonic() + seconds
    while not is_ready(url):
        if process.poll() is not None:
            raise AssertionError(f"the server ended with {process.returncode}")
        if time.monotonic() > last:
            raise AssertionError(f"the server does not answer within {seconds} s")
        time.sleep(0.05)


@contextlib.contextmanager
def served(*command, **more):
    """`command`, which takes --port, while the block runs, as (url, process); process.log() is what it has printed.
    `more` goes to Popen."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log, **more)
        process.log = lambda: (log.seek(0), log.read())[1]
        try:
            try:
                wait_until_ready(url, process)
            except AssertionError as error:
                raise AssertionError(f"{error}: {process.log()}") from None
            yield url, process
        finally:
            process.kill()
            process.wait()
