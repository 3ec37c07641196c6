"""A copy of the tree, made of links, in which commands of the documents run. Some are played by stand-ins:

  tools/build.sh, test.sh, fuzz.sh  check that presets, targets and fuzzers exist, and do nothing
  tools/mutate.py                   as mutate.py --check with the same choice
  tools/setup.sh                    does nothing
  build/<preset>/foretoken serve    starts the program on a free port and returns once it answers
  build/<preset>/foretoken tune     two prompts, short answers, short measurements
  foretoken-bench                   without a command: a tiny model, one round
  curl                              fails where the answer has an error status
"""
import os
import pathlib
import signal
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STOOD_IN = ["build.sh", "test.sh", "fuzz.sh", "mutate.py", "setup.sh"]
PROGRAMS = ["foretoken", "foretoken-bench"]
SECONDS = 600  # for what hangs


def link_all(source, target, leave_out=()):
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.name not in leave_out:
            (target / entry.name).symlink_to(entry)


class Stage:
    def __init__(self, root, build):
        self._root, self._build = root, build

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        base = pathlib.Path(self._folder.name)
        self.tree, self._state, bin_ = base / "tree", base / "state", base / "bin"
        self._state.mkdir()
        link_all(self._root, self.tree, ["build", "tools", ".git", "out"])
        link_all(self._root / "tools", self.tree / "tools", STOOD_IN)
        link_all(self._build, self.tree / "build/release", PROGRAMS)
        bin_.mkdir()
        for name in STOOD_IN:
            (self.tree / "tools" / name).symlink_to(HERE / "stand_in.py")
        for folder in [self.tree / "build/release", bin_]:
            for name in PROGRAMS:
                (folder / name).symlink_to(HERE / "stand_in.py")
        (bin_ / "curl").symlink_to(HERE / "stand_in.py")
        self._environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "STAGE_ROOT": str(self._root),
                             "STAGE_BUILD": str(self._build), "STAGE_STATE": str(self._state),
                             "HOME": str(base / "home"), "XDG_CACHE_HOME": str(base / "cache")}
        return self

    def __exit__(self, *_):
        pid = self._state / "pid"
        if pid.exists():
            os.killpg(int(pid.read_text()), signal.SIGKILL)
        self._folder.cleanup()

    def address(self, text):
        """The text with the address of the running server in it."""
        port = self._state / "port"
        return text.replace("127.0.0.1:30000", f"127.0.0.1:{port.read_text()}") if port.exists() else text

    def run(self, text):
        log = self._state / "block.log"
        with log.open("w") as out:  # a file: a server that was started holds it open
            code = subprocess.run(["bash", "-eo", "pipefail", "-c", self.address(text)], cwd=self.tree, stdout=out,
                                  stderr=out, stdin=subprocess.DEVNULL, env=self._environment,
                                  timeout=SECONDS).returncode
        return subprocess.CompletedProcess(text, code, log.read_text(errors="replace"), "")
