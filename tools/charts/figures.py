"""What the charts of docs/performance show, computed with the standard library.

Nothing here draws. Every chart is a function of `Data` to plain lists and numbers; drawing.py
makes a picture of them, plot.py takes their digest.
"""

import csv
import re
import statistics

HEADER = (
    "commit,date,machine,isa,threads,engine,model,quantization,drafter,workload,size,command,"
    "metric,value,unit"
).split(",")
ISAS = {"", "amx", "avx512_bf16", "avx512", "avx2", "baseline", "vulkan"}
ENGINES = {"foretoken", "llama.cpp", "openvino"}
SHAPE = "llama-3.2-1b shape"


class Data:
    """The rows of all files of a folder, by the name of the file."""

    def __init__(self, folder):
        self.rows, self.faults = {}, []
        for path in sorted(folder.glob("*.csv")):
            with open(path, newline="") as file:
                reader = csv.DictReader(file)
                if reader.fieldnames != HEADER:
                    self.faults.append(f"{path.name}:1: the header is not {','.join(HEADER)}")
                    continue
                self.rows[path.stem] = list(reader)
            last = ""
            for number, row in enumerate(self.rows[path.stem], 2):
                self.faults += [f"{path.name}:{number}: {fault}" for fault in row_faults(row, last)]
                last = row["date"] or last

    def value(self, subject, **wanted):
        """The median of the newest rows that have all `wanted` columns, or None.

        Newest: those of the last row's commit. Files are sorted by time.
        """
        wanted = {column: str(value) for column, value in wanted.items()}
        rows = [
            row for row in self.rows.get(subject, []) if all(row[c] == v for c, v in wanted.items())
        ]
        if not rows:
            return None
        newest = [float(row["value"]) for row in rows if row["commit"] == rows[-1]["commit"]]
        return round(statistics.median(newest), 6)


def row_faults(row, last_date):
    if None in row or None in row.values():
        yield "has another number of columns than the header"
        return
    checks = {
        "commit": re.fullmatch(r"[0-9a-f]{7,40}", row["commit"]),
        "date": re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]) and row["date"] >= last_date,
        "isa": row["isa"] in ISAS,
        "threads": re.fullmatch(r"\d*", row["threads"]),
        "engine": row["engine"] in ENGINES,
        "size": re.fullmatch(r"\d*", row["size"]),
        "metric": row["metric"],
        "value": re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", row["value"]),
    }
    for column, is_right in checks.items():
        if not is_right:
            yield f"{column} is not as documented: {row[column]!r}"


AMX = {"machine": "intel-amx-2c", "isa": "amx", "threads": 2}
AMX16 = {"machine": "intel-amx-16c", "isa": "amx", "threads": 16}
ZEN4 = {"machine": "zen4-2c", "isa": "avx512_bf16", "threads": 2}
ZEN4_4 = {"machine": "zen4-4c", "isa": "avx512_bf16", "threads": 4}
ZEN5 = {"machine": "zen5-2c", "isa": "avx512_bf16", "threads": 2}
VNNI = {"machine": "intel-avx512-2c", "isa": "avx512", "threads": 2}
AVX2 = {"machine": "intel-avx512-2c", "isa": "avx2", "threads": 2}


REAL = [
    ("smollm2-135m-instruct", "Q4_1"),
    ("qwen2.5-coder-0.5b-instruct", "Q4_K_M"),
    ("qwen2.5-coder-1.5b-instruct", "Q4_K_M"),
]
HUMAN_EVAL = "ten HumanEval prompts over HTTP"
WHOLE_FILE = "a function renamed and the whole file answered over HTTP"
PEER_DRAFTS = ("none", "the 0.5B", "ngram-simple")


# --- charts ------------------------------------------------------------------------------------


def beside_peers(data, metric):
    """Panels of bars: foretoken, llama.cpp and OpenVINO by bits of the weights."""
    panels = [
        ("AMX, 16 cores", AMX16, "w4a8-g128", "Q4_0 --pure"),
        ("AMX, 2 cores", AMX, "w4a8-g128", "Q4_0 --pure"),
        ("AVX512_BF16, 2 cores", ZEN4, "w4a8", "Q4_0"),
        ("AVX-512 with VNNI, 2 cores", VNNI, "w4a8", "Q4_0"),
    ]
    out = []
    for title, machine, four, peer_four in panels:
        groups = []
        for label, own, llama, vino in (
            ("16 bits", "bf16", "bf16", "bf16"),
            ("8 bits", "w8a8_int8", "Q8_0", "8 bits"),
            ("4 bits", four, peer_four, "4 bits"),
        ):
            names = {"foretoken": own, "llama.cpp": llama, "openvino": vino}
            values = {
                engine: data.value(
                    "peers", metric=metric, engine=engine, quantization=name, model=SHAPE, **machine
                )
                for engine, name in names.items()
            }
            groups.append(
                (label, {engine: value for engine, value in values.items() if value is not None})
            )
        out.append((title, groups))
    return out


def verified_rows(data):
    """Panels of lines: a step of n rows over a step of one row."""
    panels = [
        ("AMX", AMX, ("bf16", "w8a8_int8", "int4", "w4a8-g128")),
        ("AVX512_BF16", ZEN5, ("bf16", "w8a16", "int4")),
        ("AVX-512 with VNNI", VNNI, ("bf16", "w8a8_int8", "w4a8")),
        ("AVX2", AVX2, ("bf16", "int4")),
    ]
    out = []
    for title, machine, formats in panels:
        lines = []
        for name in formats:
            points = [
                (n, plain_steps(data, n, quantization=name, model=SHAPE, **machine))
                for n in (1, 2, 4, 8, 16, 32, 64)
            ]
            lines.append((name, [point for point in points if point[1] is not None]))
        out.append((title, lines))
    return out


def plain_steps(data, rows, **wanted):
    """What a step of `rows` rows takes, in steps of one row."""
    if rows == 1:
        return 1.0
    ratio = data.value("verified_rows", metric="plain steps", size=rows, **wanted)
    one, many = (data.value("verified_rows", metric="step", size=n, **wanted) for n in (1, rows))
    return ratio if ratio is not None else round(many / one, 3) if one and many else None


def load(data):
    """Panels of lines: speed over plain decoding by requests at once."""
    sizes = (1, 4, 16, 64, 256)
    methods = ("EAGLE-3", "STANDALONE", "SUFFIX", "EAGLE3+SUFFIX")

    def line(drafter, workload, model):
        points = [
            (
                n,
                data.value(
                    "load",
                    metric="gain",
                    drafter=drafter,
                    workload=workload,
                    size=n,
                    model=model,
                    **AMX,
                ),
            )
            for n in sizes
        ]
        return [point for point in points if point[1] is not None]

    natural = [(name, line(name, "natural answers", "demo")) for name in methods]
    forced = [(name, line(name, "forced answers", "demo")) for name in methods]
    told = [
        (f"{n} tokens a step", line("EAGLE-3", f"simulated accept length {n}", SHAPE))
        for n in (4, 2, 1)
    ]
    return [
        ("Chat answers", natural),
        ("Answers forced to 60 tokens", forced),
        ("Simulated accept length", told),
    ]


def drafters(data):
    """Panels of bars by drafter: gain by kind of text, one request at a time."""

    def gain(drafter, workload):
        return data.value(
            "accept", metric="gain", drafter=drafter, workload=workload, size=1, model="demo", **AMX
        )

    chat = [
        (
            name,
            data.value(
                "load", metric="gain", drafter=name, workload="natural answers", size=1, **AMX
            ),
        )
        for name in ("EAGLE-3", "EAGLE", "STANDALONE", "NGRAM", "SUFFIX", "EAGLE3+SUFFIX")
    ]
    chat += [
        (
            shown,
            data.value(
                "accept", metric="gain", drafter=name, workload="demo.jsonl", size=1, **ZEN4_4
            ),
        )
        for shown, name in (
            ("EAGLE + token map *", "EAGLE + token map 5/4/16"),
            ("MTP *", "MTP (NEXTN) 1/1/2"),
        )
    ]
    repeats = [
        ("EAGLE-3", gain("EAGLE-3", "repeat.jsonl")),
        ("NGRAM", gain("NGRAM, 16 nodes", "repeat.jsonl")),
        ("SUFFIX", gain("SUFFIX", "repeat.jsonl")),
        ("EAGLE3+SUFFIX", gain("EAGLE3+SUFFIX", "repeat.jsonl")),
    ]
    mix = [(name, gain(name, "mix")) for name in ("EAGLE-3", "NGRAM", "SUFFIX", "EAGLE3+SUFFIX")]
    predicted = [("prediction", gain("prediction", "the prediction is the answer, --limit 12"))]
    rows = [
        "STANDALONE",
        "EAGLE",
        "EAGLE + token map *",
        "EAGLE-3",
        "MTP *",
        "NGRAM",
        "SUFFIX",
        "EAGLE3+SUFFIX",
        "prediction",
    ]
    panels = [
        ("Chat answers", chat),
        ("Answers that repeat", repeats),
        ("Both, mixed", mix),
        ("Client sends a prediction", predicted),
    ]
    return rows, [(title, dict(values)) for title, values in panels]


def coupling(data):
    """Accept lengths at temperature 1 by drafter: most probable drafts and coupled ones."""
    names = (
        "STANDALONE 4/1/5",
        "EAGLE 5/4/16",
        "EAGLE + token map 5/4/16",
        "EAGLE-3 5/4/16",
        "MTP (NEXTN) 1/1/2",
    )
    return [
        (
            name,
            *(
                data.value(
                    "accept",
                    metric="accept length",
                    drafter=name,
                    workload=f"MT-bench, temperature 1, coupling {mode}",
                    **ZEN4,
                )
                for mode in ("never", "auto")
            ),
        )
        for name in names
    ]


def structured(data):
    """Tokens per second of bound answers by who drafts."""
    loads = (
        "tool calls, free white space",
        "filled schemas, free white space",
        "tool calls, compact JSON",
        "filled schemas, compact JSON",
    )
    return [
        (
            name,
            [
                data.value("accept", metric="speed", drafter=drafter, workload=name, **VNNI)
                for drafter in ("none", "EAGLE-3", "GRAMMAR", "EAGLE-3 and GRAMMAR")
            ],
        )
        for name in loads
    ]


def answer_speed(data, engine, drafter, workload):
    """Tokens per second of the largest file."""
    model, weights = REAL[-1]
    return data.value(
        "peers",
        metric="speed",
        engine=engine,
        drafter=drafter,
        workload=workload,
        model=model,
        quantization=weights,
        **ZEN4,
    )


def speedup(data):
    """The picture of the README: answers of a real file, over foretoken's plain decoding."""

    def gain(engine, drafter, workload):
        own, plain = (
            answer_speed(data, *of, workload) for of in ((engine, drafter), ("foretoken", "none"))
        )
        return round(own / plain, 3)

    panels = []
    for title, workload, peers in (
        ("Functions of HumanEval", HUMAN_EVAL, PEER_DRAFTS),
        ("A whole file, one name changed", WHOLE_FILE, ("none", "ngram-simple")),
    ):
        bars = [("foretoken", name) for name in ("none", "as it starts")]
        bars += [("llama.cpp", name) for name in peers]
        panels.append((title, [(*bar, gain(*bar, workload)) for bar in bars]))
    return panels


CHARTS = {
    "coupling": coupling,
    "decode": lambda data: beside_peers(data, "decode"),
    "drafters": drafters,
    "load": load,
    "prompt": lambda data: beside_peers(data, "prompt"),
    "speedup": speedup,
    "structured": structured,
    "verified_rows": verified_rows,
}
