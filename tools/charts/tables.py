"""The tables of docs/performance/README.md, from the same data as the charts of figures.py."""

from figures import (
    AMX,
    AMX16,
    AVX2,
    HUMAN_EVAL,
    PEER_DRAFTS,
    REAL,
    SHAPE,
    VNNI,
    WHOLE_FILE,
    ZEN4,
    ZEN5,
    answer_speed,
    plain_steps,
)

OWN = ("bf16", "w8a8_int8", "w8a16", "int4", "w4a8", "w4a8-g128")
LLAMA = ("bf16", "Q8_0", "Q4_0", "Q4_0 --pure")
VINO = ("bf16", "8 bits", "4 bits")
REAL_ENGINES = ("foretoken", "llama.cpp")
CLASSES = {
    "amx": [("2", AMX), ("16", AMX16)],
    "avx512": [("2, Zen 4", ZEN4), ("2, Zen 5", ZEN5), ("2, no bf16 instructions", VNNI)],
    "avx2": [("2", AVX2)],
}


def files_table(data):
    """Files that people have: both programs on the same file, and ours over theirs."""
    lines = [
        "| file | engine | decode, tokens/s | 16 sequences, tokens/s | prompt of 512, tokens/s |",
        "|---|---|---|---|---|",
    ]
    for model, weights in REAL:
        speeds = [
            [
                data.value(
                    "peers", metric=metric, engine=engine, model=model, quantization=weights, **ZEN4
                )
                for metric in ("decode", "sequences", "prompt")
            ]
            for engine in REAL_ENGINES
        ]
        for engine, values in zip(REAL_ENGINES, speeds):
            lines.append(f"| {model} {weights} | {engine} | {' | '.join(map(brief, values))} |")
        ratios = " | ".join(f"{own / peer:.2f} ×" for own, peer in zip(*speeds))
        lines.append(f"| | foretoken over llama.cpp | {ratios} |")
    return lines


OWN_DRAFTS = (
    "none",
    "as it starts",
    "SUFFIX",
    "NGRAM",
    "STANDALONE 3/1/4 of w4a8",
    "STANDALONE+SUFFIX 3/1/4 of w4a8",
)
def answers_table(data):
    lines = ["| engine | drafts | HumanEval, tokens/s | whole file, tokens/s |", "|---|---|---|---|"]
    for engine, drafts in zip(REAL_ENGINES, (OWN_DRAFTS, PEER_DRAFTS)):
        for name in drafts:
            speeds = [answer_speed(data, engine, name, work) for work in (HUMAN_EVAL, WHOLE_FILE)]
            shown = " | ".join("" if speed is None else brief(speed) for speed in speeds)
            lines.append(f"| {engine} | {name} | {shown} |")
    return lines


ROUNDED = (
    "SmolLM2-135M-Instruct Q4_1",
    "Gemma-3-270M-it Q4_K_M",
    "Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
    "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
)


def rounding_table(data):
    """What rounding the input costs, beside the widened weights in float32."""
    lines = [
        "| file | input | perplexity | divergence, nats | same best token |",
        "|---|---|---|---|---|",
    ]
    for model in ROUNDED:
        for weights, name in (("gguf", "8 bits"), ("gguf-a16", "bf16")):
            found = [
                data.value("quality", metric=metric, model=model, quantization=weights)
                for metric in ("perplexity", "KL", "same best token")
            ]
            lines.append(f"| {model} | {name} | {found[0]:.2f} | {found[1]:.1e} | {found[2]:.3f} |")
    return lines


def class_table(data, machines):
    """The made-up model on machines of one class of instruction sets."""
    lines = [
        "| cores | engine | weights | decode, tokens/s | 8 rows, plain steps | 16 rows "
        "| 16 sequences, tokens/s | prompt, tokens/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cores, machine in machines:
        for engine, formats in (("foretoken", OWN), ("llama.cpp", LLAMA), ("openvino", VINO)):
            for weights in formats:
                cells = table_cells(data, engine, quantization=weights, model=SHAPE, **machine)
                if sum(cell is not None for cell in cells) > 1:
                    shown = " | ".join("" if cell is None else brief(cell) for cell in cells)
                    lines.append(f"| {cores} | {engine} | {weights} | {shown} |")
    return lines


def table_cells(data, engine, **wanted):
    peers = {"engine": engine, **wanted}
    decode = data.value("peers", metric="decode", **peers)
    prompt = data.value("peers", metric="prompt", **peers)
    if engine != "foretoken":
        return [decode, None, None, data.value("peers", metric="sequences", **peers), prompt]
    if decode is None:
        step = data.value("decode", metric="step", size=1, **wanted)
        decode = data.value("decode", metric="speed", size=1, **wanted) or (
            1000 / step if step else None
        )
    if prompt is None:
        time = data.value("prompt", metric="time", size=512, **wanted)
        prompt = data.value("prompt", metric="speed", size=512, **wanted) or (
            512000 / time if time else None
        )
    rows = [plain_steps(data, n, **wanted) for n in (8, 16)]
    return [decode, *rows, data.value("peers", metric="sequences", **peers), prompt]


def brief(value):
    """Three digits, and no more than two behind the point."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


TABLES = {
    name: lambda data, of=machines: class_table(data, of) for name, machines in CLASSES.items()
}
TABLES |= {"files": files_table, "answers": answers_table, "rounding": rounding_table}


def table(data, name):
    """The lines of a table in docs/performance/README.md."""
    return TABLES[name](data)
