#!/usr/bin/env python3
"""Draws the charts and writes the tables of docs/performance from its data.

  tools/plot.py               draws all charts (needs matplotlib), writes the tables of README.md
  tools/plot.py --check       fails when a chart or table does not belong to the data; runs
                              without matplotlib
  tools/plot.py --self-test   checks that --check fails on a planted breach of each kind

The last line of a chart holds two digests: of what the chart shows and the code that drew it, and
of the picture itself. So --check finds a changed row, changed code and an SVG edited by hand.
"""

import hashlib
import json
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CODE = ROOT / "tools" / "charts"
sys.path.insert(0, str(CODE))
import figures  # noqa: E402
import tables  # noqa: E402

STAMP = re.compile(r"<!-- figures (\w{64}) picture (\w{64}) -->\n\Z")
TABLE = re.compile(
    r"(<!-- table (\w+) of tools/plot\.py -->\n).*?(<!-- end of table -->)", re.DOTALL
)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def digest(shown, source):
    return sha256(json.dumps(shown) + source)


def drawing_source():
    return "".join((CODE / name).read_text() for name in ("figures.py", "drawing.py"))


def with_tables(data, page):
    """The page with each of its tables made anew."""
    return TABLE.sub(
        lambda found: found[1] + "\n".join(tables.table(data, found[2])) + "\n" + found[3], page
    )


def draw(folder):
    import drawing

    data = figures.Data(folder / "data")
    if data.faults:
        return data.faults
    charts = folder / "charts"
    charts.mkdir(exist_ok=True)
    for name, compute in figures.CHARTS.items():
        shown = compute(data)
        picture = getattr(drawing, name)(shown)
        stamp = f"<!-- figures {digest(shown, drawing_source())} picture {sha256(picture)} -->\n"
        (charts / f"{name}.svg").write_text(picture + stamp)
    page = folder / "README.md"
    page.write_text(with_tables(data, page.read_text()))
    return []


def check(folder, source):
    """The faults of `folder` (data/, charts/, README.md); `source` is the code that draws."""
    data = figures.Data(folder / "data")
    if data.faults:
        return data.faults
    faults = []
    charts = {path.stem: path.read_text() for path in (folder / "charts").glob("*.svg")}
    for name in sorted(charts.keys() - figures.CHARTS.keys()):
        faults.append(f"charts/{name}.svg: no chart has this name")
    for name, compute in figures.CHARTS.items():
        faults += chart_faults(name, charts.get(name), digest(compute(data), source))
    page = (folder / "README.md").read_text()
    if sorted(found[2] for found in TABLE.finditer(page)) != sorted(tables.TABLES):
        faults.append("README.md: does not have each table once")
    if with_tables(data, page) != page:
        faults.append("README.md: a table does not belong to the data")
    return faults


def chart_faults(name, picture, wanted):
    if picture is None:
        return [f"charts/{name}.svg: is missing"]
    stamp = STAMP.search(picture)
    if not stamp:
        return [f"charts/{name}.svg: has no digests in its last line"]
    faults = []
    if stamp[1] != wanted:
        faults.append(
            f"charts/{name}.svg: drawn from other data or by other code; run tools/plot.py"
        )
    if stamp[2] != sha256(picture[: stamp.start()]):
        faults.append(f"charts/{name}.svg: was changed after it was drawn")
    return faults


def change(path, old, new):
    text = path.read_text()
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1))


def last_value(row):
    """The row with another value."""
    cells = row.split(",")
    cells[-2] = str(2 * float(cells[-2]))
    return ",".join(cells)


def breaches():
    """By name: what damages a folder, and the words that --check has to say about it."""

    def newest_row(folder):
        path = folder / "data" / "load.csv"
        lines = path.read_text().splitlines()
        place = next(
            i
            for i in reversed(range(len(lines)))
            if "EAGLE-3" in lines[i] and "natural answers," in lines[i] and ",amx," in lines[i]
        )
        lines[place] = last_value(lines[place])
        path.write_text("\n".join(lines) + "\n")

    def row_of_table(folder):
        path = folder / "data" / "peers.csv"
        lines = path.read_text().splitlines()
        place = max(i for i, line in enumerate(lines) if ",w4a8-g128," in line)
        lines.insert(place + 1, last_value(lines[place]))
        path.write_text("\n".join(lines) + "\n")

    chart = pathlib.Path("charts") / "load.svg"
    return {
        "a figure of a chart": (newest_row, "load.svg: drawn from other data"),
        "a figure of a table": (row_of_table, "a table does not belong"),
        "a picture edited by hand": (
            lambda f: change(f / chart, "</svg>", "<g/></svg>"),
            "changed after it was drawn",
        ),
        "a picture without digests": (
            lambda f: change(f / chart, "<!-- figures", "<!-- numbers"),
            "no digests",
        ),
        "a missing picture": (lambda f: (f / chart).unlink(), "is missing"),
        "a stray picture": (
            lambda f: shutil.copy(f / chart, f / "charts" / "other.svg"),
            "no chart has this name",
        ),
        "a table edited by hand": (
            lambda f: change(f / "README.md", "| foretoken | bf16 | ", "| foretoken | bf16 | 9"),
            "a table does not belong",
        ),
        "a table left out": (
            lambda f: change(f / "README.md", "<!-- table avx2", "<!-- tableau avx2"),
            "each table once",
        ),
        "another header": (
            lambda f: change(f / "data" / "load.csv", "commit,date", "date,commit"),
            "the header is not",
        ),
        "a value that is no number": (
            lambda f: change(f / "data" / "load.csv", ",x\n", "x,x\n"),
            "value is not as documented",
        ),
        "rows out of order": (
            lambda f: change(f / "data" / "load.csv", ",2026-", ",2036-"),
            "date is not as documented",
        ),
    }


def self_test():
    whole, source = ROOT / "docs" / "performance", drawing_source()
    faults = [f"self test: the folder as it is: {fault}" for fault in check(whole, source)]
    if not any("other code" in fault for fault in check(whole, source + "\n")):
        faults.append("self test: other drawing code is not noticed")
    for name, (damage, wanted) in breaches().items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "performance"
            shutil.copytree(whole, folder)
            damage(folder)
            if not any(wanted in fault for fault in check(folder, source)):
                faults.append(f"self test: {name} is not noticed")
    return faults


def main():
    folder = ROOT / "docs" / "performance"
    if "--self-test" in sys.argv:
        faults = self_test()
    elif "--check" in sys.argv:
        faults = check(folder, drawing_source())
    else:
        faults = draw(folder)
    print("\n".join(faults) if faults else "charts: no fault")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
