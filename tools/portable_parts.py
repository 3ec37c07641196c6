#!/usr/bin/env python3
"""Makes the folder that the portable program is compiled and linked in: an older glibc and third-party code to link statically.

Usage: portable_parts.py [OUT_FOLDER]

OUT_FOLDER (build/portable-parts) then holds
  sysroot   headers and libraries of glibc 2.31, from packages of Debian 11
  include   headers of third-party code, of this distribution
  lib       its static libraries; the unwinder of GCC 10, as later ones need glibc 2.35; newer_glibc.o
  prometheus-cpp   sources of its core, which the distribution has as a shared library only
What is downloaded is named by its SHA-256. A folder that is made already stays.
"""
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
POOLS = ("http://deb.debian.org/debian/pool/main/", "http://archive.debian.org/debian/pool/main/")
PACKAGES = {
    "g/glibc/libc6_2.31-13+deb11u11_amd64.deb": "05f7264da867b37f4c5ce49266b558ea1e81e05a9464f623152fca70f3550282",
    "g/glibc/libc6-dev_2.31-13+deb11u11_amd64.deb": "e7f7b45d9c5cfcf37609f0b6efd3c645272c812144703af89dfd32218fcb0fd3",
    "l/linux/linux-libc-dev_5.10.223-1_amd64.deb": "e3be603bd12377bb90fcfb0f2048ca3a81c886e49d6f09945b82159d1c54f7b2",
    "g/gcc-10/libgcc-10-dev_10.2.1-6_amd64.deb": "3b711374092b84e732c4e73cf33e02cff02e34a5f105eb6467de8d9038e4cd9d",
}
PROMETHEUS = ("p/prometheus-cpp/prometheus-cpp_1.0.1.orig.tar.gz",
              "593e028d401d3298eada804d252bc38d8cab3ea1c9e88bcd72095281f85e6d16")
TRIPLE = "x86_64-linux-gnu"
HEADERS = ("boost", "fmt", "spdlog", "prometheus", "vulkan", "vk_video", "gtest", "gmock", f"{TRIPLE}/curl", "curl")
LIBRARIES = ("libboost_json.a", "libboost_container.a", "libssl.a", "libcrypto.a", "libgtest.a", "libgtest_main.a", "libgmock.a")
GCC = "12"
# Of this distribution, and linked statically or compiled from headers (tools/third_party.py names their licences).
LINKED = ("libboost1.*-dev", "libboost-json1.*-dev", "libfmt-dev", "libspdlog-dev", "libssl-dev", "libvulkan-dev",
          f"libstdc++-{GCC}-dev")


def fetch(name, digest, folder):
    for pool in POOLS:
        try:
            with urllib.request.urlopen(pool + name, timeout=120) as answer:
                data = answer.read()
        except OSError as fault:
            print(f"portable_parts: {pool}{name}: {fault}", file=sys.stderr)
            continue
        if hashlib.sha256(data).hexdigest() != digest:
            raise SystemExit(f"portable_parts: {pool}{name} is not the file that it was: another SHA-256")
        path = folder / name.rsplit("/", 1)[1]
        path.write_bytes(data)
        return path
    raise SystemExit(f"portable_parts: {name} cannot be downloaded")


def make_links_relative(root):
    """Else the linker follows them to the libraries of this machine."""
    for link in (path for path in root.rglob("*") if path.is_symlink()):
        target = os.readlink(link)
        if target.startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(root / target[1:], link.parent))


def make_sysroot(out, downloads):
    root = out / "sysroot"
    for name, digest in PACKAGES.items():
        subprocess.run(["dpkg-deb", "-x", fetch(name, digest, downloads), root], check=True)
    make_links_relative(root)
    # Headers of C++ are the compiler's.
    for place in ("usr/include/c++", f"usr/include/{TRIPLE}/c++"):
        (root / place).mkdir(parents=True)
        (root / place / GCC).symlink_to(pathlib.Path("/", place, GCC))
    unwinder, = root.glob("usr/lib/gcc/*/10/libgcc_eh.a")
    shutil.copy(unwinder, out / "lib")
    shutil.rmtree(root / "usr/lib/gcc")


def stage(out):
    for name in HEADERS:
        source, link = pathlib.Path("/usr/include", name), out / "include" / name.rsplit("/", 1)[-1]
        if source.exists() and not link.exists():
            link.symlink_to(source)
    (out / "include/openssl").mkdir()
    for source in (pathlib.Path("/usr/include/openssl"), pathlib.Path("/usr/include", TRIPLE, "openssl")):
        for header in source.glob("*.h"):
            (out / "include/openssl" / header.name).symlink_to(header)
    for name in LIBRARIES:
        source = pathlib.Path("/usr/lib", TRIPLE, name)
        if source.exists():
            (out / "lib" / name).symlink_to(source)
    subprocess.run(["gcc", f"--sysroot={out / 'sysroot'}", "-O2", "-fPIE", "-Wall", "-Werror", "-c",
                    ROOT / "packaging/portable/newer_glibc.c", "-o", out / "lib/newer_glibc.o"], check=True)


def stamp():
    """Of all that the folder is made of."""
    return hashlib.sha256(pathlib.Path(__file__).read_bytes()
                          + (ROOT / "packaging/portable/newer_glibc.c").read_bytes()).hexdigest() + "\n"


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        raise SystemExit(__doc__)
    if platform.machine() != "x86_64":
        raise SystemExit("portable_parts: only for x86_64")
    out = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else ROOT / "build/portable-parts").absolute()
    made = out / "made"
    if made.exists() and made.read_text() == stamp():
        return
    shutil.rmtree(out, ignore_errors=True)
    downloads = out / "downloads"
    for folder in (downloads, out / "include", out / "lib"):
        folder.mkdir(parents=True)
    make_sysroot(out, downloads)
    with tarfile.open(fetch(*PROMETHEUS, downloads)) as archive:
        archive.extractall(downloads, filter="data")
    source, = downloads.glob("prometheus-cpp-*/")
    source.rename(out / "prometheus-cpp")
    shutil.rmtree(downloads)
    stage(out)
    made.write_text(stamp())


if __name__ == "__main__":
    main()
