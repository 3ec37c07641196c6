"""Runs suites on a tree of sleeping faults: which cases reach a fault, and which of them notices it.

A suite is run once in full without a fault, while fault_switch.h writes down which case reaches which fault. A fault
then costs only the cases that reach it, the short ones first. A case that fails without any fault proves nothing.
"""
import json
import os
import resource
import subprocess

from . import rooms

SHORT_CASES_MS = 3000  # together, of those that run first
MEMORY = 12 << 30
MEMORY_OF_SCRIPTS = 32 << 30  # the program reserves half of the machine's memory, and room for drafts from texts
LONGEST_FILTER = 60_000


class Suites:
    def __init__(self, tree, store):
        self.tree, self.store = tree, store
        store.mkdir(parents=True, exist_ok=True)
        self.reached = {}  # suite -> fault -> cases
        self.milliseconds = {}  # suite -> case -> how long
        self.failing = {}  # suite -> cases that fail without a fault

    def record(self, suite):
        """Learns what the cases of a suite reach; from what an earlier run kept while the program is the same."""
        kept = self.store / f"{suite}.json"
        stamp = self._stamp(suite)
        if not kept.exists() or json.loads(kept.read_text())["stamp"] != stamp:
            print(f"mutate: which cases of {suite} reach which faults?", flush=True)
            kept.write_text(json.dumps({"stamp": stamp, **self._record(suite)}))
        found = json.loads(kept.read_text())
        self.reached[suite] = {int(fault): cases for fault, cases in found["reached"].items()}
        self.milliseconds[suite], self.failing[suite] = found["milliseconds"], set(found["failing"])

    def notices(self, suite, fault):
        """The case of this suite that notices the fault; None if none does."""
        cases = [case for case in self.reached[suite].get(fault, []) if case not in self.failing[suite]]
        if not cases:
            return None
        if suite in rooms.SCRIPTS:
            return self._run(suite, "", fault, 900)
        if "-" in cases:
            return self._sure(suite, fault, ["*"])
        duration = self.milliseconds[suite]
        cases.sort(key=lambda case: duration.get(case, 0))
        first, total = 0, 0
        while first < len(cases) and (first == 0 or total + duration.get(cases[first], 0) <= SHORT_CASES_MS):
            total += duration.get(cases[first], 0)
            first += 1
        return self._sure(suite, fault, cases[:first]) or (cases[first:] and self._sure(suite, fault, cases[first:])) or None

    def _sure(self, suite, fault, cases):
        """As notices(), and the case passes when the fault is off."""
        cases = list(cases)
        for _ in range(5):
            filter_ = ":".join(cases)
            if not cases or len(filter_) > LONGEST_FILTER:
                filter_ = "*"
            filter_ += "".join(["-", ":".join(sorted(self.failing[suite]))]) if self.failing[suite] else ""
            limit = 30 + sum(self.milliseconds[suite].get(case, 0) for case in (
                self.milliseconds[suite] if filter_[0] == "*" else cases)) / 50
            by = self._run(suite, filter_, fault, limit)
            if by is None or " " in by or self._run(suite, by, None, 600) is None:
                return by
            print(f"mutate: {suite} {by} fails without a fault, too", flush=True)
            self.failing[suite].add(by)
            cases = [case for case in cases if case != by]
            if not cases:
                return None
        return None

    def _stamp(self, suite):
        path = self._program(suite) if suite not in rooms.SCRIPTS else self.tree / "build/release/foretoken"
        status = path.stat()
        return f"{status.st_mtime_ns} {status.st_size}"

    def _program(self, suite):
        for path in (self.tree / "build/release").rglob(suite):
            if path.is_file() and os.access(path, os.X_OK):
                return path
        raise FileNotFoundError(suite)

    def _test_program(self, suite):
        return [*rooms.STARTERS.get(suite, []), str(self._program(suite))]

    def _record(self, suite):
        lines, times = self.store / f"{suite}.txt", self.store / f"{suite}_times.json"
        for path in (lines, times):
            path.unlink(missing_ok=True)
        command = rooms.SCRIPTS.get(suite) or [*self._test_program(suite), "--gtest_brief=1"]
        done = self._start(command, {"FORETOKEN_FAULT_RECORD": str(lines), "GTEST_OUTPUT": f"json:{times}"}, 3600)
        reached, milliseconds, failing = {}, {}, []
        for line in lines.read_text().splitlines() if lines.exists() else []:
            fault, case = line.split(" ", 1)
            reached.setdefault(fault, set()).add(case)
        if suite not in rooms.SCRIPTS:
            for group in json.loads(times.read_text())["testsuites"]:
                for case in group["testsuite"]:
                    name = f"{group['name']}.{case['name']}"
                    milliseconds[name] = 1000 * float(case["time"].rstrip("s"))
                    if "failures" in case:
                        failing.append(name)
        elif done.returncode:
            failing.append("-")
        if failing:
            print(f"mutate: without a fault there fail of {suite}: {' '.join(failing)}", flush=True)
        return {"reached": {fault: sorted(cases) for fault, cases in reached.items()}, "milliseconds": milliseconds,
                "failing": failing}

    def _run(self, suite, cases, fault, seconds):
        """What fails; None when nothing does."""
        command = rooms.SCRIPTS.get(suite) or [*self._test_program(suite), "--gtest_brief=1", "--gtest_fail_fast",
                                               f"--gtest_filter={cases}"]
        try:
            done = self._start(command, {} if fault is None else {"FORETOKEN_FAULT": str(fault)}, seconds)
        except subprocess.TimeoutExpired:
            return f"{suite} takes too long"
        if done.returncode == 0:
            return None
        failed = [line for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
        if suite in rooms.SCRIPTS or not failed:
            return f"{suite} fails" if suite in rooms.SCRIPTS else f"{suite} crashes"
        return failed[0][12:].split(" (")[0].split(", where")[0].strip()

    def _start(self, command, variables, seconds):
        memory = MEMORY_OF_SCRIPTS if command in rooms.SCRIPTS.values() else MEMORY

        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # tests reserve addresses without memory
            os.nice(int(os.environ.get("FORETOKEN_NICE", "19")) - os.nice(0))
            os.setsid()

        with subprocess.Popen(command, cwd=self.tree, env={**os.environ, **variables}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=limit) as started:
            try:
                output, _ = started.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, 9)
                started.communicate()
                raise
            return subprocess.CompletedProcess(command, started.returncode, output)
