#!/usr/bin/env python3
"""Packs the built program as a tarball with one folder: foretoken-VERSION-linux-MACHINE.tar.gz.

Usage: make_tarball.py BUILD_FOLDER OUT_FOLDER

Build the target package_files first. Names are sorted; owner and modes are fixed; the time of all files is SOURCE_DATE_EPOCH, or
1980. The same build makes the same tarball.
"""
import argparse
import gzip
import io
import os
import pathlib
import platform
import sys
import tarfile
import tempfile

import make_wheel

TIME = 315532800  # 1980, the first year that archives of all kinds can name


def entry(name, size, mode, time):
    made = tarfile.TarInfo(name)
    made.size, made.mode, made.mtime = size, mode, time
    made.uname = made.gname = "root"
    return made


def make(build, out):
    time = int(os.environ.get("SOURCE_DATE_EPOCH", TIME))
    top = f"foretoken-{make_wheel.version()}-linux-{platform.machine()}"
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as prefix, tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, file in make_wheel.installed(build, pathlib.Path(prefix)):
            data = file.read_bytes()
            mode = 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(entry(f"{top}/{name}", len(data), mode, time), io.BytesIO(data))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{top}.tar.gz"
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    asked = parser.parse_args()
    make_wheel.check_built(asked.build)
    print(make(asked.build, asked.out))


if __name__ == "__main__":
    sys.exit(main())
