#!/usr/bin/env python3
"""Plays the programs that stage.py lists, by the name under which it is called."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

NAME, WORDS = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
ROOT, BUILD, STATE = (pathlib.Path(os.environ["STAGE_" + name]) for name in ("ROOT", "BUILD", "STATE"))


def check(wanted, known, what):
    for word in wanted:
        if word not in known:
            sys.exit(f"{NAME}: there is no {what} {word}")


def build():
    presets = [preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]]
    check(WORDS[:1], presets, "preset")
    rules = (BUILD / "build.ninja").read_text()
    targets = set(re.findall(r"^build ([\w.-]+):", rules, re.MULTILINE))
    check(WORDS[1:], targets, "target")


def fuzz():
    if WORDS:
        int(WORDS[0])
    check(WORDS[1:], os.listdir(ROOT / "tests/fuzz/corpus"), "fuzzer")


def mutate():
    groups = {path.stem for path in (ROOT / "tools/mutations").glob("*.toml")}
    check([after for word, after in zip(WORDS, WORDS[1:]) if word == "--only"], groups, "list of faults")
    os.execv(sys.executable, [sys.executable, str(ROOT / "tools/mutate.py"), *WORDS, "--check"])


def stop_server():
    pid = STATE / "pid"
    if not pid.exists():
        return
    os.killpg(int(pid.read_text()), signal.SIGKILL)
    pid.unlink()


def serve():
    stop_server()
    log = STATE / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen([BUILD / "foretoken", *WORDS, "--port", "0", "--log-level", "info"], stdout=out,
                                  stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
    (STATE / "pid").write_text(str(server.pid))
    while True:
        said = log.read_text(errors="replace")
        listens = re.search(r"Listening on http://\S*:(\d+)", said)
        if listens and "fired up" in said:
            (STATE / "port").write_text(listens[1])
            return
        if server.poll() is not None:
            (STATE / "pid").unlink()
            sys.exit(said[-2000:] or f"the server ended with {server.returncode}")
        time.sleep(0.02)


def foretoken():
    if WORDS[:1] == ["serve"] and not {"--help", "-h", "--version"} & set(WORDS):
        return serve()
    quick = ["--limit", "2", "--max-new-tokens", "16", "--measure-seconds", "0.3", "--batch-sizes", "1,2",
             "--validate", "0"]
    more = quick if WORDS[:1] == ["tune"] and "--replay" not in WORDS and "--help" not in WORDS else []
    os.execv(BUILD / "foretoken", ["foretoken", *WORDS, *more])


def bench():
    quick = ["--shape", "tiny", "--rounds", "1", "--context", "16"]
    quick = quick if not WORDS or WORDS[0].startswith("--") else []
    os.execv(BUILD / "foretoken-bench", ["foretoken-bench", *WORDS, *quick])


def curl():
    real = next(path for folder in os.environ["PATH"].split(":") if (path := pathlib.Path(folder, "curl")).exists()
                and path.resolve() != pathlib.Path(__file__).resolve())
    fails = any(re.fullmatch(r"-\w*f\w*", word) for word in WORDS)  # asks for it itself
    os.execv(real, ["curl", "-sS", *([] if fails else ["--fail-with-body"]), *WORDS])


def nothing():
    check(WORDS, [], "argument")


{"build.sh": build, "test.sh": nothing, "setup.sh": nothing, "fuzz.sh": fuzz, "mutate.py": mutate,
 "foretoken": foretoken, "foretoken-bench": bench, "curl": curl}[NAME]()
