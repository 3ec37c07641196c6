#!/usr/bin/env python3
"""Installs and packs the program and runs what was installed; checks the examples of packaging/ against the program.

Usage: package_test.py SOURCE_FOLDER BUILD_FOLDER CMAKE.
"""
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

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from served import served  # noqa: E402

SOURCE, BUILD = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
CMAKE = sys.argv.pop(1)
PACKAGING = SOURCE / "packaging"
INSTALLED = ["bin/foretoken", "share/man/man1/foretoken.1", "share/bash-completion/completions/foretoken",
             "share/zsh/vendor-completions/_foretoken", "share/fish/vendor_completions.d/foretoken.fish",
             "lib/systemd/system/foretoken.service", "share/doc/foretoken/LICENSE", "share/doc/foretoken/copyright",
             "share/doc/foretoken/THIRD_PARTY_NOTICES", "share/doc/foretoken/sbom.cdx.json",
             "share/foretoken/models/demo/model.safetensors"]


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **more)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


def yaml_of(path):
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("python3-yaml is not installed")
    return list(yaml.safe_load_all(path.read_text()))


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run(CMAKE, "--build", BUILD, "--target", "package_files",
            env={**os.environ, "PATH": os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin")})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_program(self, program):
        self.assertRegex(run(program, "--version"), r"^foretoken \d+\.\d+\.\d+")
        self.assertRegex(run(program, "generate", "--prompt", "Hello", "--max-new-tokens", "4", "--threads", "2"), r"\S")

    def test_an_installed_program_runs_and_finds_its_model(self):
        run(CMAKE, "--install", BUILD, "--prefix", "/usr", "--strip", env={**os.environ, "DESTDIR": str(self.folder)})
        for file in INSTALLED:
            self.assertTrue((self.folder / "usr" / file).is_file(), file)
        strays = {path.name for path in (self.folder / "usr").iterdir()} - {"bin", "share", "lib"}
        self.assertEqual(strays, set())
        moved = self.folder / "elsewhere"
        (self.folder / "usr").rename(moved)
        self.check_program(moved / "bin/foretoken")
        # Where auditwheel moves the program of a wheel to.
        scripts = moved / "lib/python3.11/site-packages/foretoken.scripts"
        scripts.mkdir(parents=True)
        (moved / "bin/foretoken").rename(scripts / "foretoken")
        self.check_program(scripts / "foretoken")

    def test_pip_puts_the_program_of_a_wheel_on_the_path(self):
        run(sys.executable, SOURCE / "tools/make_wheel.py", BUILD, self.folder)
        wheel, = self.folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            self.assertEqual({entry.date_time[0] for entry in archive.infolist()}, {1980})  # nothing of the clock
        environment = self.folder / "environment"
        made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest("python3-venv is not installed")
        run(environment / "bin/pip", "install", "--no-index", "--disable-pip-version-check", wheel)
        self.check_program(environment / "bin/foretoken")

    @needs("dpkg-deb")
    @needs("dpkg-shlibdeps")
    def test_a_debian_package_names_what_it_needs(self):
        run("cpack", "-G", "DEB", "-B", self.folder, cwd=BUILD)
        package, = self.folder.glob("*.deb")
        fields = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", package).splitlines() if ": " in line)
        self.assertEqual(fields["Package"], "foretoken")
        self.assertIn("libc6 (>= ", fields["Depends"])
        self.assertIn("libcurl", fields["Depends"])
        run("dpkg-deb", "-x", package, self.folder / "root")
        for file in INSTALLED:
            self.assertTrue((self.folder / "root/usr" / file).is_file(), file)
        modes = {line.split()[0] for line in run("dpkg-deb", "-c", package).splitlines()}
        self.assertLessEqual(modes, {"drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"})
        self.check_program(self.folder / "root/usr/bin/foretoken")

    @needs("dpkg-deb")
    @needs("dpkg-shlibdeps")
    def test_a_build_packed_twice_is_one_debian_package(self):
        made = []
        for folder, time_of_files in (("a", "1600000000"), ("b", "1600000000"), ("c", "1700000000")):
            run("cpack", "-G", "DEB", "-B", self.folder / folder, cwd=BUILD,
                env={**os.environ, "SOURCE_DATE_EPOCH": time_of_files})
            package, = (self.folder / folder).glob("*.deb")
            made.append(package.read_bytes())
        self.assertTrue(made[0] == made[1])
        self.assertFalse(made[0] == made[2])

    def test_a_tarball_has_one_folder(self):
        run("cpack", "-G", "TGZ", "-B", self.folder, cwd=BUILD)
        file, = self.folder.glob("*.tar.gz")
        with tarfile.open(file) as archive:
            names = archive.getnames()
        top, = {name.split("/")[0] for name in names}
        for each in INSTALLED:
            self.assertIn(f"{top}/{each}", names)

    def test_a_build_packed_twice_is_one_tarball_with_nothing_of_this_machine(self):
        made = []
        for folder in "ab":
            path = run(sys.executable, SOURCE / "tools/make_tarball.py", BUILD, self.folder / folder,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1600000000"})
            made.append(pathlib.Path(path.strip()))
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())
        with tarfile.open(made[0]) as archive:
            entries = archive.getmembers()
        self.assertEqual([each.name for each in entries], sorted(each.name for each in entries))
        self.assertEqual({(each.uid, each.gid, each.mtime) for each in entries}, {(0, 0, 1600000000)})
        self.assertEqual({each.mode for each in entries if "/bin/" not in each.name}, {0o644})
        names = {each.name.split("/", 1)[1] for each in entries}
        self.assertLessEqual(set(INSTALLED), names)

    def test_everything_linked_has_a_notice(self):
        notices = (BUILD / "package/THIRD_PARTY_NOTICES").read_text()
        sbom = json.loads((BUILD / "package/sbom.cdx.json").read_text())
        self.assertEqual((sbom["bomFormat"], sbom["specVersion"]), ("CycloneDX", "1.5"))
        names = {component["name"] for component in sbom["components"]}
        self.assertLessEqual({"tokenizers", "minijinja", "llguidance", "rustyline", "libc6"}, names)
        self.assertTrue(any(name.startswith("libcurl") for name in names), names)
        for component in sbom["components"]:
            self.assertIn(f"{component['name']} {component['version']}", notices)
        purls = [component["purl"] for component in sbom["components"]]
        self.assertEqual(len(purls), len(set(purls)))
        self.assertEqual(sbom["dependencies"][0]["dependsOn"], purls)


class Packagers(unittest.TestCase):
    def test_without_tests_nothing_of_them_is_built_and_no_warning_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            run(CMAKE, "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DBUILD_TESTING=OFF")
            rules = pathlib.Path(folder, "build.ninja").read_text()
        for word in ("gtest", "_test.cc", "-Werror"):
            self.assertNotIn(word, rules)
        self.assertIn("package_files", rules)


class Examples(unittest.TestCase):
    @needs("systemd-analyze")
    def test_the_unit_is_one_that_systemd_takes_and_is_hardened(self):
        with tempfile.TemporaryDirectory() as folder:
            # The program need not be installed here.
            unit = pathlib.Path(folder, "foretoken.service")
            text = (PACKAGING / "foretoken.service").read_text()
            self.assertIn("\nExecStart=foretoken serve ", text)
            unit.write_text(text.replace("ExecStart=foretoken", "ExecStart=/bin/true"))
            result = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
            self.assertNotIn("foretoken.service", result.stderr)
            rated = run("systemd-analyze", "security", "--offline=true", unit)
        level = float(re.search(r"Overall exposure level.*: ([\d.]+)", rated).group(1))
        self.assertLess(level, 3)

    def test_the_container_is_not_root_and_is_asked_how_it_is(self):
        text = (PACKAGING / "Containerfile").read_text()
        self.assertRegex(text, r"(?m)^USER 65534:65534$")
        self.assertRegex(text, r"(?m)^HEALTHCHECK ")
        self.assertRegex(text, r"(?m)^ARG DEB=$")  # a package that is made already takes the place of building
        # Folders and scripts that it names are there.
        for name in re.findall(r"\b(tools/\S+?\.sh)\b", text):
            self.assertTrue((SOURCE / name).is_file(), name)

    def test_kubernetes_is_told_of_health_and_metrics(self):
        deployment, service, monitor = yaml_of(PACKAGING / "kubernetes.yaml")
        self.assertEqual([each["kind"] for each in (deployment, service, monitor)], ["Deployment", "Service", "PodMonitor"])
        pod = deployment["spec"]["template"]
        labels = pod["metadata"]["labels"]
        for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"],
                         monitor["spec"]["selector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), labels.items())
        container, = pod["spec"]["containers"]
        port, = container["ports"]
        self.assertIn("--enable-metrics", container["args"])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(container[probe]["httpGet"]["port"], port["name"])
            self.assertIn(container[probe]["httpGet"]["path"], ("/health", "/health_generate"))
        self.assertEqual(service["spec"]["ports"][0]["targetPort"], port["name"])
        self.assertEqual(monitor["spec"]["podMetricsEndpoints"][0]["port"], port["name"])
        self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
        self.assertTrue(pod["spec"]["securityContext"]["runAsNonRoot"])
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)

    def test_compose_mounts_files_that_are_there(self):
        compose, = yaml_of(PACKAGING / "compose/compose.yaml")
        for service in compose["services"].values():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                if source.startswith("."):
                    self.assertTrue((PACKAGING / "compose" / source).is_file(), source)
        self.assertTrue((PACKAGING / "compose" / compose["services"]["foretoken"]["build"]["context"]
                         / compose["services"]["foretoken"]["build"]["dockerfile"]).is_file())
        scrape, = yaml_of(PACKAGING / "compose/prometheus.yaml")
        target, = scrape["scrape_configs"][0]["static_configs"][0]["targets"]
        self.assertEqual(target, "foretoken:30000")

    def test_queries_of_the_dashboard_ask_for_metrics_and_labels_that_there_are(self):
        board = json.loads((PACKAGING / "grafana/dashboard.json").read_text())
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        self.assertGreater(len(queries), 10)
        page = self.metrics()
        names = set(re.findall(r"(?m)^(sglang:\w+)", page))
        for query in queries:
            asked = re.findall(r"sglang:\w+", query)
            self.assertTrue(asked, query)
            for name in asked:
                self.assertIn(name, names, query)
                for label in re.findall(r"by \((\w+)\)", query):
                    self.assertRegex(page, rf'(?m)^{name}\{{[^}}]*\b{label}="', query)

    def metrics(self):
        """The page of a server that has answered once, with drafts."""
        with served(BUILD / "foretoken", "serve", "--model", SOURCE / "models/demo", "--enable-metrics", "--threads",
                    "2") as (url, _):
            body = json.dumps({"messages": [{"role": "user", "content": "Count to ten."}], "temperature": 0,
                               "max_tokens": 40}).encode()
            for _ in range(2):
                request = urllib.request.Request(url + "/v1/chat/completions", body, {"Content-Type": "application/json"})
                urllib.request.urlopen(request, timeout=60).read()
            return urllib.request.urlopen(url + "/metrics", timeout=60).read().decode()


if __name__ == "__main__":
    unittest.main()
