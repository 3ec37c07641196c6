"""The program under test as a child process: started on a free port, watched from outside, ended."""
import os
import re
import signal
import subprocess
import tempfile
import time

from http_client import Server


class Served:
    def __init__(self, program, model, flags=(), api_key=None):
        self.log_file = tempfile.NamedTemporaryFile("w+", prefix="foretoken-soak-", suffix=".log")
        key = ["--api-key", api_key] if api_key else []
        command = [program, "serve", "--model", model, "--host", "127.0.0.1", "--port", "0", *key, *flags]
        self.process = subprocess.Popen(command, stdout=self.log_file, stderr=self.log_file)
        self.server = Server("127.0.0.1", self._port(), api_key)

    def _port(self):
        for _ in range(1200):
            if self.process.poll() is not None:
                raise SystemExit("the server ended at its start:\n" + self.log()[-2000:])
            log = self.log()
            if "ready to roll" in log:
                return int(re.search(r"Listening on http://[^ ]*?:(\d+)", log)[1])
            time.sleep(0.1)
        raise SystemExit("the server did not start within two minutes:\n" + self.log()[-2000:])

    def log(self):
        with open(self.log_file.name, errors="replace") as log:
            return log.read()

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_up(self):
        return self.process.poll() is None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self, patience=60):
        """Asks it to end; its exit code, negative where a signal ended it."""
        if self.is_up():
            self.terminate()
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
