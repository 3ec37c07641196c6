#!/usr/bin/env python3
"""The portable program: needs glibc alone and no newer one than 2.31, knows no path of the machine that built it, runs elsewhere.

Usage: portable_test.py SOURCE_FOLDER BUILD_FOLDER CMAKE

What compiles and links it is tried on a small program. The whole of it is tested where tools/portable.sh has made it, and in the
roots of other distributions that FORETOKEN_ROOTS names (a folder of them; `tools/fresh_root.py --make` makes some; needs root).
"""
import contextlib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.request
import zipfile

SOURCE, BUILD = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
CMAKE = sys.argv.pop(1)
sys.path += [str(SOURCE / "tests/hub"), str(SOURCE / "tests/testing"), str(SOURCE / "tools")]
import fresh_root  # noqa: E402 - of tools
from served import served  # noqa: E402

PORTABLE = SOURCE / "build/portable"
NEWEST = (2, 31)
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
ENVIRONMENT = {**os.environ, "PATH": os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin"),
               "CCACHE_BASEDIR": str(SOURCE), "CCACHE_NOHASHDIR": "1"}
BUNDLES = ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt")
ROOTS = os.environ.get("FORETOKEN_ROOTS", "")


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **more)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}: {result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout


class PortableCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check_needs(self, program):
        said = run("readelf", "--wide", "--dynamic", "--version-info", program)
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said))
        self.assertIn("libc.so.6", needed)
        self.assertLessEqual(needed, GLIBC)
        versions = {tuple(map(int, version)) for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said)}
        self.assertLessEqual(max(versions), NEWEST)

    def check_paths(self, program):
        data = program.read_bytes()
        for path in {str(SOURCE.resolve()), str(BUILD.resolve()), os.path.expanduser("~")}:
            self.assertNotIn(path.encode() + b"/", data)


class Toolchain(PortableCase):
    """A small program: third-party headers and libraries, exceptions, threads, files."""

    def test_what_it_makes_needs_an_old_glibc_alone(self):
        if not pathlib.Path("/usr/lib/gcc/x86_64-linux-gnu/12").is_dir() or not shutil.which("dpkg-deb"):
            self.skipTest("made for GCC 12 of Debian 12 on x86_64")
        parts = subprocess.run([SOURCE / "tools/portable_parts.py"], capture_output=True, text=True)
        if "cannot be downloaded" in parts.stderr:
            self.skipTest("Debian's packages cannot be reached")
        self.assertEqual(parts.returncode, 0, parts.stderr)
        build = BUILD / "portable-probe"
        run(CMAKE, "-S", SOURCE, "-B", build, "--preset", "portable", "-DBUILD_TESTING=ON", cwd=SOURCE, env=ENVIRONMENT)
        run(CMAKE, "--build", build, "--target", "base_tests", env=ENVIRONMENT)
        program = self.folder / "base_tests"
        run("strip", build / "src/base/base_tests", "-o", program)
        self.check_needs(program)
        self.check_paths(program)
        run(program)


@unittest.skipUnless((PORTABLE / "package/sbom.cdx.json").exists(), "tools/portable.sh was not run")
class ProgramCase(PortableCase):
    def tarball(self, folder=None, **more):
        path = run(sys.executable, SOURCE / "tools/make_tarball.py", PORTABLE, folder or self.folder, env={**os.environ, **more})
        return pathlib.Path(path.strip())

    def unpacked(self, folder):
        with tarfile.open(self.tarball()) as archive:
            archive.extractall(folder)
        top, = folder.glob("foretoken-*-linux-*/")
        return top

    def wheel(self):
        return pathlib.Path(run(sys.executable, SOURCE / "tools/make_wheel.py", PORTABLE, self.folder).strip())


class Program(ProgramCase):
    def test_the_program_needs_an_old_glibc_alone_and_knows_no_path_of_this_machine(self):
        program = self.unpacked(self.folder) / "bin/foretoken"
        self.check_needs(program)
        self.check_paths(program)
        self.assertRegex(run(program, "--version"), r"^foretoken \d")
        self.assertRegex(run(program, "generate", "--prompt", "Hello", "--max-new-tokens", "4", "--threads", "2"), r"\S")

    def test_packed_twice_it_has_one_hash(self):
        sums = {hashlib.sha256(self.tarball(self.folder / each).read_bytes()).hexdigest() for each in "ab"}
        self.assertEqual(len(sums), 1)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg-deb is not installed")
    def test_the_debian_package_needs_glibc_alone_and_has_one_hash(self):
        packages = []
        for each in "ab":
            run("cpack", "-G", "DEB", "-B", self.folder / each, cwd=PORTABLE)
            packages += (self.folder / each).glob("*.deb")
        self.assertEqual(len({hashlib.sha256(package.read_bytes()).hexdigest() for package in packages}), 1)
        self.assertEqual(run("dpkg-deb", "-f", packages[0], "Depends").strip(), "libc6 (>= {}.{})".format(*NEWEST))

    def test_what_is_linked_statically_has_a_notice(self):
        notices = (PORTABLE / "package/THIRD_PARTY_NOTICES").read_text()
        components = json.loads((PORTABLE / "package/sbom.cdx.json").read_text())["components"]
        for name in ("curl", "zlib", "oniguruma", "curl-sys", "libssl-dev", "libstdc++-12-dev", "libgcc-10-dev", "libc6-dev",
                     "libfmt-dev", "libspdlog-dev", "prometheus-cpp", "rust-std", "tokenizers"):
            found = [each for each in components if each["name"] == name]
            self.assertEqual(len(found), 1, name)
            self.assertIn(f"{name} {found[0]['version']}", notices)

    def test_the_tag_of_the_wheel_says_which_glibc_is_needed(self):
        wheel = self.wheel()
        minor = int(re.search(r"-manylinux_2_(\d+)_x86_64\.whl$", wheel.name).group(1))
        self.assertLessEqual(minor, NEWEST[1])
        with zipfile.ZipFile(wheel) as archive:
            self.assertFalse([name for name in archive.namelist() if ".so" in name])
        if not importlib.util.find_spec("auditwheel"):
            self.skipTest("the tag is checked; auditwheel is not installed")
        shown = run(sys.executable, "-m", "auditwheel", "show", wheel)
        # It knows some versions of glibc only, and names the next.
        self.assertLessEqual(int(re.search(r'tag: *"manylinux_2_(\d+)_x86_64"', shown.replace("\n", " ")).group(1)), NEWEST[1])


@unittest.skipUnless(ROOTS and os.geteuid() == 0, "FORETOKEN_ROOTS names no folder of other distributions' roots, or not root")
@unittest.skipUnless(pathlib.Path("/usr/bin/openssl").exists(), "openssl is not installed")
class Roots(ProgramCase):
    def in_each_root(self, check):
        roots = sorted(path for path in pathlib.Path(ROOTS).iterdir() if (path / "etc/os-release").exists())
        self.assertTrue(roots, f"{ROOTS} holds no roots")
        for root in roots:
            with self.subTest(root.name), tempfile.TemporaryDirectory(dir=root / "tmp") as folder:
                check(root, pathlib.Path(folder))
                print(f"{self.id().rsplit('.', 1)[1]}: {root.name}")

    def chrooted(self, root, *words, **variables):
        return fresh_root.inside(root, words, {"PATH": "/usr/bin:/bin", "HOME": "/tmp", **variables})

    def test_it_runs_serves_and_downloads_over_tls(self):
        def check(root, folder):
            top = self.unpacked(folder)
            program = pathlib.Path("/", (top / "bin/foretoken").relative_to(root))
            self.check_program(root, program)
            self.assertIn("content", self.answer_of(root, program)["choices"][0]["message"])
            self.check_tls(root, folder, program)

        self.in_each_root(check)

    def check_program(self, root, program):
        self.assertRegex(run(*self.chrooted(root, program, "--version")), r"^foretoken \d")
        generated = run(*self.chrooted(root, program, "generate", "--prompt", "Hello", "--max-new-tokens", "4", "--threads", "2"))
        self.assertRegex(generated, r"\S")

    def answer_of(self, root, program):
        with served(*self.chrooted(root, program, "serve", "--threads", "2")) as (url, _):
            body = json.dumps({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}).encode()
            request = urllib.request.Request(url + "/v1/chat/completions", body, {"Content-Type": "application/json"})
            return json.load(urllib.request.urlopen(request, timeout=60))

    def check_tls(self, root, folder, program):
        from fake_hub import FakeHub
        certificate, key = folder / "hub.pem", folder / "key.pem"
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate, "-subj",
            "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        model = {"config.json": b'{"model_type": "llama"}', "tokenizer.json": b"{}", "model.safetensors": bytes(300_000)}
        with FakeHub({"o/n": model}, tls=(certificate, key)) as hub:
            def pull(cache, **more):
                variables = {"HF_HOME": f"/{folder.relative_to(root)}/{cache}", "HF_ENDPOINT": hub.url, **more}
                return subprocess.run(self.chrooted(root, program, "pull", "o/n", **variables), capture_output=True,
                                      text=True, timeout=120)
            refused = pull("a")
            self.assertIn("certificate", refused.stderr)
            self.assertEqual(refused.returncode, 1)
            taken = pull("b", SSL_CERT_FILE=f"/{certificate.relative_to(root)}")
            self.assertEqual(taken.returncode, 0, taken.stderr)
            for file in BUNDLES:
                with self.trusted(root, file, certificate):
                    taken = pull(file.replace("/", "_"))
                    self.assertEqual(taken.returncode, 0, file + taken.stderr)

    @contextlib.contextmanager
    def trusted(self, root, file, certificate):
        """The certificate is the system's for a while, and the only one."""
        bundle = root / file
        kept = {path: path.read_bytes() for path in (root / each for each in BUNDLES) if path.is_file()}
        for path in kept:
            path.unlink()
        bundle.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(certificate, bundle)
        try:
            yield
        finally:
            bundle.unlink()
            for path, data in kept.items():
                path.write_bytes(data)

    def test_pip_installs_the_wheel_where_there_is_python(self):
        wheel = self.wheel()

        def check(root, folder):
            inside = f"/{folder.relative_to(root)}"
            made = subprocess.run(self.chrooted(root, "python3", "-m", "venv", f"{inside}/env"), capture_output=True, text=True)
            if made.returncode != 0:
                self.skipTest("this root has no python3-venv")
            shutil.copy(wheel, folder)
            run(*self.chrooted(root, f"{inside}/env/bin/pip", "install", "--no-index", "--disable-pip-version-check",
                               f"{inside}/{wheel.name}"))
            self.check_program(root, f"{inside}/env/bin/foretoken")

        self.in_each_root(check)


if __name__ == "__main__":
    unittest.main()
