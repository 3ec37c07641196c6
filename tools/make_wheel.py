#!/usr/bin/env python3
"""Makes a Python wheel of the built program: `pip install` puts `foretoken` on the path.

Usage: make_wheel.py BUILD_FOLDER OUT_FOLDER [--repair]

Build the target package_files first. The wheel holds what `cmake --install` does but for completions and the service, and
needs the libraries that the program is linked with. With --repair auditwheel (and patchelf) put those into the wheel and name
the glibc that is still needed in its tag. The portable program needs glibc alone; the tag of its wheel names it without that.
The same build makes the same wheel.
"""
import argparse
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEFT_OUT = ("share/bash-completion", "share/zsh", "share/fish", "lib/")
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
         "ld-linux-aarch64.so.1"}
TIME = (1980, 1, 1, 0, 0, 0)  # of all files: the same build is the same wheel


def version():
    return re.search(r"^project\(foretoken VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)


def check_built(build):
    if not (build / "package/foretoken.1").exists():
        raise SystemExit(f"build the target package_files in {build} first")


def installed(build, folder):
    """(path below the prefix, file) of what is installed, sorted."""
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(folder), "--strip"], check=True, stdout=subprocess.DEVNULL)
    return sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())


def platform_of(program):
    """The tag of machines that the program runs on: with glibc alone, all whose glibc is new enough."""
    said = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", str(program)], check=True, capture_output=True,
                          text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", said)
    if not set(needed) <= GLIBC:
        return f"linux_{platform.machine()}"
    newest = max(tuple(map(int, version)) for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said))
    return f"manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def place_of(name, folder):
    kind, rest = ("scripts", name.removeprefix("bin/")) if name.startswith("bin/") else ("data", name)
    return f"{folder}.data/{kind}/{rest}"


class Wheel:
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.records = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, TIME)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def close(self, folder):
        record = f"{folder}.dist-info/RECORD"
        self.add(record, ("\n".join([*self.records, f"{record},,"]) + "\n").encode())
        self.archive.close()


def make(build, out):
    folder, tag = f"foretoken-{version()}", f"py3-none-{platform_of(build / 'foretoken')}"
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{folder}-{tag}.whl"
    wheel = Wheel(path)
    with tempfile.TemporaryDirectory() as prefix:
        for name, file in installed(build, pathlib.Path(prefix)):
            if name.startswith(LEFT_OUT):
                continue
            wheel.add(place_of(name, folder), file.read_bytes(), 0o755 if name.startswith("bin/") else 0o644)
    info = f"{folder}.dist-info"
    wheel.add(f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: foretoken\nVersion: {version()}\n"
        "Summary: A server for large language models that drafts without changing a text\n"
        "License: Apache-2.0\nRequires-Python: >=3.8\n").encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: make_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.close(folder)
    return path


def repair(path, out):
    """The wheel with the libraries in it, in the place of the other."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", str(path), "-w", folder], check=True)
        repaired, = pathlib.Path(folder).glob("*.whl")
        target = out / repaired.name
        target.write_bytes(repaired.read_bytes())
    path.unlink()
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--repair", action="store_true")
    asked = parser.parse_args()
    check_built(asked.build)
    path = make(asked.build, asked.out)
    print(repair(path, asked.out) if asked.repair else path)


if __name__ == "__main__":
    main()
