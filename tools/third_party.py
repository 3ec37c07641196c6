#!/usr/bin/env python3
"""Says what the program is linked with: licence notices as one text, and an SBOM (CycloneDX 1.5, JSON).

Usage: third_party.py PROGRAM OUT_FOLDER [--cargo CARGO] [--portable PARTS_FOLDER]

Writes OUT_FOLDER/THIRD_PARTY_NOTICES and OUT_FOLDER/sbom.cdx.json. Libraries are those that the program asks the loader
for, and headers; of the portable program those that are linked statically (tools/portable_parts.py). Their licences are the
distribution's copyright files. Crates are the ones that src/text/rust depends on for this target, build scripts' and tests'
apart, and the C libraries in them; their licences are the files beside their sources. The same program on the same machine
makes the same files. Fails where a licence is missing.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import portable_parts

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUST_LICENCE = "MIT OR Apache-2.0"
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
HEADERS = ("libboost1.*-dev", "libvulkan-dev")
# Libraries in C that crates compile: crate, its name, its licence file, the file that says its version.
BUNDLED = (("curl-sys", "curl", "curl/COPYING", "curl/include/curl/curlver.h", r'LIBCURL_VERSION "(.+)"'),
           ("libz-sys", "zlib", "src/zlib/LICENSE", "src/zlib/zlib.h", r'ZLIB_VERSION "(.+)"'),
           ("onig_sys", "oniguruma", "oniguruma/COPYING", "oniguruma/HISTORY", r"Version ([\d.]+)"))


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def compiler_of(cargo):
    return str(pathlib.Path(cargo).parent / "rustc") if "/" in cargo else "rustc"


def about_rust(cargo, field):
    return re.search(rf"^{field}: (\S+)$", output(compiler_of(cargo), "-vV"), re.MULTILINE).group(1)


def rust_notice(cargo):
    """Where the tool chain comes without texts, the name of the licence."""
    folder = pathlib.Path(output(compiler_of(cargo), "--print", "sysroot").strip(), "share/doc/rust/licenses")
    texts = [file.read_text() for file in (folder / "MIT.txt", folder / "Apache-2.0.txt") if file.exists()]
    return "\n".join(texts).strip() or f"Licence: {RUST_LICENCE}"


def crates(cargo, features):
    """(name, version, licence expression, folder) of each crate that is linked, sorted."""
    data = json.loads(output(cargo, "metadata", "--format-version", "1", "--locked", "--filter-platform",
                             about_rust(cargo, "host"), *features, cwd=ROOT / "src/text/rust",
                             env={**os.environ, "RUSTC": compiler_of(cargo)}))
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    found, left = set(), [data["resolve"]["root"]]
    while left:
        node = nodes[left.pop()]
        for dependency in node["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in found and not is_macro(packages[dependency["pkg"]]):
                found.add(dependency["pkg"])
                left.append(dependency["pkg"])
    return sorted((packages[each]["name"], packages[each]["version"], packages[each]["license"] or "",
                   pathlib.Path(packages[each]["manifest_path"]).parent) for each in found)


def is_macro(package):
    """It runs in the compiler and is not part of what it makes."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def crate_notice(folder):
    files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE_FILE.search(file.name)
                   and file.suffix not in (".rs", ".toml"))
    return "\n".join(file.read_text(errors="replace").strip() for file in files)


def packages_of(program):
    """Debian's (source-independent) names of the libraries that the loader is asked for, and of headers."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", program))
    paths = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.MULTILINE))
    found = set()
    for name in needed:
        # The loader is part of the C library.
        path = paths.get(name)
        if path is None:
            continue
        found.add(owner_of(path))
    return sorted(found | set(installed(HEADERS)))


def installed(patterns):
    listed = output("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *patterns).split("\n")
    return sorted(line.split()[0] for line in listed if line.endswith(" installed"))


def portable_parts_of(folder):
    """(name, version, purl, licence text) of what is linked statically and no package of this machine."""
    gcc = debian_notice(f"libstdc++-{portable_parts.GCC}-dev")
    for path in portable_parts.PACKAGES:
        name, version, _ = path.rsplit("/", 1)[1].split("_")
        if name in ("libc6-dev", "libgcc-10-dev"):
            own = folder / "sysroot/usr/share/doc" / name / "copyright"
            yield name, version, f"pkg:deb/debian/{name}@{version}", own.read_text() if own.exists() else gcc
    version = re.search(r"_([\d.]+)\.orig", portable_parts.PROMETHEUS[0]).group(1)
    yield ("prometheus-cpp", version, f"pkg:github/jupp0r/prometheus-cpp@v{version}",
           (folder / "prometheus-cpp/LICENSE").read_text().strip())


def bundled_in(name, folder):
    """(name, version, licence text) of the C library in a crate, where there is one."""
    for crate, library, licence, header, pattern in BUNDLED:
        if crate == name:
            version = re.search(pattern, (folder / header).read_text(errors="replace")).group(1)
            yield library, version, (folder / licence).read_text(errors="replace").strip()


def owner_of(path):
    for each in (path, str(pathlib.Path(path).resolve()), path.removeprefix("/usr"), "/usr" + path):
        result = subprocess.run(["dpkg", "-S", each], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout.split(":")[0]
    raise SystemExit(f"third_party: no package owns {path}")


def debian_notice(package):
    file = pathlib.Path("/usr/share/doc", package, "copyright")
    return file.read_text(errors="replace").strip() if file.exists() else ""


def component(name, version, purl, licence=""):
    out = {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}
    if licence:
        out["licenses"] = [{"expression": licence.replace("/", " OR ")}]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--cargo", default="cargo")
    parser.add_argument("--portable", type=pathlib.Path, metavar="PARTS_FOLDER")
    asked = parser.parse_args()
    parts, components, missing = [], [], []
    for package in installed(portable_parts.LINKED) if asked.portable else packages_of(asked.program):
        version = output("dpkg-query", "-W", "-f", "${Version}\n", package).split("\n")[0]
        parts.append((f"{package} {version}", "", debian_notice(package)))
        components.append(component(package, version, f"pkg:deb/debian/{package}@{version}"))
    for name, version, purl, notice in portable_parts_of(asked.portable) if asked.portable else ():
        parts.append((f"{name} {version}", "", notice))
        components.append(component(name, version, purl))
    rust = about_rust(asked.cargo, "release")
    parts.append((f"rust-std {rust}", RUST_LICENCE, rust_notice(asked.cargo)))
    components.append(component("rust-std", rust, f"pkg:github/rust-lang/rust@{rust}", RUST_LICENCE))
    features = ["--features", "static_net"] if asked.portable else []
    for name, version, licence, folder in crates(asked.cargo, features):
        parts.append((f"{name} {version}", licence, crate_notice(folder) or (f"Licence: {licence}" if licence else "")))
        components.append(component(name, version, f"pkg:cargo/{name}@{version}", licence))
        for library, its_version, notice in bundled_in(name, folder):
            parts.append((f"{library} {its_version}", "", notice))
            components.append(component(library, its_version, f"pkg:generic/{library}@{its_version}"))
    for title, _, notice in parts:
        if not notice:
            missing.append(title)
    if missing:
        raise SystemExit("third_party: no licence is known of " + ", ".join(missing))
    asked.out.mkdir(parents=True, exist_ok=True)
    line = "=" * 100
    titles = {}  # of each text, which several may share
    for title, licence, notice in parts:
        titles.setdefault(notice, []).append(title + (f" ({licence})" if licence else ""))
    notices = [f"{line}\n" + "\n".join(names) + f"\n{line}\n\n{notice}\n" for notice, names in titles.items()]
    (asked.out / "THIRD_PARTY_NOTICES").write_text("foretoken is linked with the following.\n\n" + "\n".join(notices))
    version = re.search(r"^project\(foretoken VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "foretoken", "version": version,
                                       "bom-ref": "foretoken", "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": components,
            "dependencies": [{"ref": "foretoken", "dependsOn": [each["purl"] for each in components]}]}
    (asked.out / "sbom.cdx.json").write_text(json.dumps(sbom, indent=1) + "\n")
    print(f"third_party: {len(components)} components")


if __name__ == "__main__":
    sys.exit(main())
