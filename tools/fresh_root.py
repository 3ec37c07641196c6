#!/usr/bin/env python3
"""Tries the first command of the README, or a package, in a fresh root of a distribution.

  tools/fresh_root.py bookworm trixie noble              installs, builds and asks; says how many seconds each took
  tools/fresh_root.py bullseye --package FILE.tar.gz     unpacks a tarball there and runs it; .deb and .whl are installed
  tools/fresh_root.py noble --ca FILE.crt                with a certificate that it is to trust, as that of a proxy
  tools/fresh_root.py bullseye noble --make FOLDER       only makes roots, with Python, as FOLDER/NAME: for the suite `portable`

The sources are those of HEAD. A bare root is made once by mmdebstrap and kept as build/roots/NAME.tar. Needs root rights.
Exit code 1 when anything failed.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
KEPT = ROOT / "build/roots"
DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
SUITES = {"bullseye": DEBIAN, "bookworm": DEBIAN, "trixie": DEBIAN, "noble": UBUNTU}
PORT = 30917
ANSWER_SECONDS = 1800
QUESTION = ('{"model": "demo", "temperature": 0, "max_tokens": 16, "messages": [{"role": "user", "content": '
            '"List 3 countries and their capitals."}]}')


def make_root(suite, target, *options):
    """A folder, or a tar by its name: the packages that the distribution calls essential, and apt."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # Of Ubuntu's keys Debian has no package; what is fetched here is tried, not trusted. Its systems take updates.
    is_ubuntu = SUITES[suite] == UBUNTU
    pockets = [suite, f"{suite}-updates"] if is_ubuntu else [suite]
    sources = [f"deb [trusted=yes] {SUITES[suite]} {pocket} main{' universe' * is_ubuntu}" for pocket in pockets]
    print(f"{suite}: making the root", flush=True)
    made = target.with_name(f"new-{target.name}")
    subprocess.run(["mmdebstrap", "--variant=apt", "--quiet", *options, suite, str(made), *sources], check=True)
    made.rename(target)


def inside(root, words, variables, user="root"):
    """The command line that runs a program in the folder `root`, as on a system of its own."""
    mounts = "".join(f"mount --rbind /{name} '{root}/{name}'; " for name in ("dev", "sys"))
    enter = f"{mounts} mount -t proc proc '{root}/proc'; exec chroot --userspec={user} '{root}' \"$@\""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", enter, "bash",
            "env", "-i", *(f"{name}={value}" for name, value in variables.items()), *map(str, words)]


class Root:
    """A folder with a distribution in it; `run` starts a shell there, in namespaces of its own."""

    def __init__(self, suite, certificate, folder):
        self.suite, self.path = suite, pathlib.Path(folder)
        kept = KEPT / f"{suite}.tar"
        make_root(suite, kept)
        subprocess.run(["tar", "-C", folder, "-xpf", str(kept)], check=True)
        for name in ("resolv.conf", "hosts"):
            (self.path / "etc" / name).unlink(missing_ok=True)
            shutil.copy(f"/etc/{name}", self.path / "etc" / name)
        if certificate:  # found by ca-certificates when that is installed
            trusted = self.path / "usr/local/share/ca-certificates"
            trusted.mkdir(parents=True, exist_ok=True)
            shutil.copy(certificate, trusted / "given.crt")

    def put_sources(self):
        folder = self.path / "foretoken"
        folder.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-C", str(folder), "-x"], input=archive, check=True)

    def start(self, script, user="root"):
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root" if user == "root" else "/tmp",
                     **{name: value for name, value in os.environ.items() if name.endswith(("_proxy", "_PROXY"))}}
        return subprocess.Popen(inside(self.path, ["bash", "-c", script], variables, user), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)

    def run(self, script, user="root"):
        """(exit code, output)"""
        process = self.start(script, user)
        output, _ = process.communicate(timeout=ANSWER_SECONDS)
        return process.returncode, output


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def fail(suite, what, output):
    print(f"{suite}: {what}\n{output[-3000:]}", flush=True)
    return False


def first_answer(root, user):
    """Seconds until [the build began, the server started, the answer came]; and all that was printed."""
    begin, marks, lines = time.monotonic(), {}, []
    process = root.start(f"cd /foretoken && exec tools/serve_demo.sh --port {PORT} 2>&1", user)
    try:
        for line in process.stdout:
            lines.append(line)
            for name, pattern in (("build", r"^\[\d+/\d+\]"), ("server", r"Bound http"), ("answer", r'"finish_reason":')):
                if re.search(pattern, line):
                    marks.setdefault(name, time.monotonic() - begin)
            if "answer" in marks or time.monotonic() - begin > ANSWER_SECONDS:
                break
    finally:
        end(process)
    return marks, "".join(lines)


def try_first_command(suite, certificate):
    with tempfile.TemporaryDirectory(prefix=f"foretoken_{suite}_") as folder:
        root = Root(suite, certificate, folder)
        root.put_sources()
        code, output = root.run("cd /foretoken && tools/setup.sh", user="nobody:nogroup")
        if code == 0 or not re.search(r"^setup: run as root .*\bcmake\b", output, re.MULTILINE):
            return fail(suite, "without rights what is missing is not named", output)
        marks, output = first_answer(root, "root")
        if "answer" not in marks or "Paris" not in output:
            return fail(suite, "no first answer", output)
        install, server, answer = marks.get("build", marks["server"]), marks["server"], marks["answer"]
        print(f"{suite}: first answer after {answer:.0f} s: installed {install:.0f} s, built {server - install:.0f} s", flush=True)
        # With everything installed no rights are needed.
        root.run("chown -R nobody:nogroup /foretoken")
        marks, output = first_answer(root, "nobody:nogroup")
        return "answer" in marks or fail(suite, "no answer for a user without rights", output)


def try_package(suite, certificate, package):
    with tempfile.TemporaryDirectory(prefix=f"foretoken_{suite}_") as folder:
        root = Root(suite, certificate, folder)
        shutil.copy(package, root.path / package.name)
        program = "foretoken"
        if package.suffix == ".deb":
            install = f"apt-get -q update && apt-get -qy install /{package.name}"
        elif package.suffix == ".whl":
            install = (f"apt-get -q update && apt-get -qy install python3-venv && python3 -m venv /v && "
                       f"/v/bin/pip install --no-index /{package.name}")
            program = "/v/bin/foretoken"
        else:
            install, program = f"mkdir /t && tar -C /t --strip-components=1 -xzf /{package.name}", "/t/bin/foretoken"
        for what, script in (("it is not installed", install), ("it has no version", f"{program} --version"),
                             ("it does not generate", f"{program} generate --prompt Hello --max-new-tokens 4")):
            code, output = root.run(script)
            if code != 0:
                return fail(suite, what, output)
        process = root.start(f"exec {program} serve --port {PORT}")
        try:
            for line in process.stdout:
                if "ready to roll" in line:
                    break
            asked = subprocess.run(["curl", "-gs", f"http://127.0.0.1:{PORT}/v1/chat/completions", "-d", QUESTION,
                                    "-H", "Content-Type: application/json"], capture_output=True, text=True)
        finally:
            end(process)
        if "Paris" not in asked.stdout:
            return fail(suite, "no answer", asked.stdout + asked.stderr)
        print(f"{suite}: {package.name} answers", flush=True)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", choices=SUITES, metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--package", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--ca", metavar="FILE")
    parser.add_argument("--make", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    for tool in ("mmdebstrap", "unshare", "chroot", "curl"):
        if not shutil.which(tool):
            sys.exit(f"fresh_root: {tool} is not installed")
    if os.geteuid() != 0:
        sys.exit("fresh_root: run as root: it makes namespaces and mounts")
    if args.make:
        for suite in args.suites:
            make_root(suite, args.make / suite, "--include=python3-venv")
        return
    tried = [try_package(suite, args.ca, args.package) if args.package else try_first_command(suite, args.ca)
             for suite in args.suites]
    sys.exit(0 if all(tried) else 1)


if __name__ == "__main__":
    main()
