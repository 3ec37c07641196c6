#!/usr/bin/env python3
"""Names the test cases of ctest runs that failed, a line each, then sums them all to one line,
"N passed, N failed, N skipped".

Each argument is a folder with ctest's JUnit file (ctest.xml) and one <test>.json per GoogleTest
binary. A test without such a file (a script) counts as one case. A test that ctest calls failed while
its cases look fine (it crashed, timed out, or wrote nothing) counts as one failed case more.
Exit code 1 when something failed or nothing ran.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count_cases(path):
    """(passed, names of the failed, skipped) of one GoogleTest JSON report."""
    passed = skipped = 0
    failed = []
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                failed.append(f"{case['classname']}.{case['name']}")
            elif case["status"] != "RUN" or case["result"] == "SKIPPED":
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped


def count_folder(folder):
    """(passed, failed, skipped) of one run; names what failed."""
    passed = failed = skipped = 0
    for test in ElementTree.parse(folder / "ctest.xml").getroot().iter("testcase"):
        name, status = test.get("name"), test.get("status")
        report = folder / f"{name}.json"
        cases = (0, [], 0)
        if report.exists():
            try:
                cases = count_cases(report)
            except (ValueError, KeyError):
                pass  # cut short by a crash: ctest's own status decides
        if status == "run":
            cases = cases if report.exists() else (1, [], 0)
        elif status == "fail":
            cases = (cases[0], cases[1] or ["(no case)"], cases[2])
        else:
            cases = (0, [], 1)
        for case in cases[1]:
            print(f"failed: {folder.parent.name} {name}: {case}")
        passed, failed, skipped = passed + cases[0], failed + len(cases[1]), skipped + cases[2]
    return passed, failed, skipped


def main():
    totals = [sum(column) for column in zip(*(count_folder(pathlib.Path(f)) for f in sys.argv[1:]))]
    print("{} passed, {} failed, {} skipped".format(*totals))
    sys.exit(1 if totals[1] or not totals[0] else 0)


if __name__ == "__main__":
    main()
