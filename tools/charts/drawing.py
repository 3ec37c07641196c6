"""Draws the charts of docs/performance with matplotlib. The same figures give the same SVG.

Every chart has a function of its name, which takes what figures.py computed and returns the SVG.
The ground is transparent, and all colours have contrast on white and on dark pages.
"""

import io
import math
import os

os.environ.setdefault("MPLBACKEND", "svg")
import matplotlib  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402

INK, FAINT = "#737c87", "#8c959f55"
BLUE, ORANGE, GREEN, PURPLE, GREY, SAND = (
    "#2f86d1",
    "#d9782b",
    "#2e9d6a",
    "#9a6cc9",
    "#8f98a3",
    "#b59a63",
)
ENGINE_COLOURS = {"foretoken": BLUE, "llama.cpp": GREY, "openvino": SAND}
ENGINE_NAMES = {"foretoken": "foretoken", "llama.cpp": "llama.cpp", "openvino": "OpenVINO"}
LINE_COLOURS = {
    "bf16": BLUE,
    "w8a8_int8": GREEN,
    "w8a16": GREEN,
    "int4": ORANGE,
    "w4a8": PURPLE,
    "w4a8-g128": PURPLE,
    "EAGLE-3": BLUE,
    "STANDALONE": PURPLE,
    "SUFFIX": ORANGE,
    "EAGLE3+SUFFIX": GREEN,
    "4 tokens a step": BLUE,
    "2 tokens a step": GREEN,
    "1 tokens a step": GREY,
}

matplotlib.rcParams.update(
    {
        "svg.hashsalt": "foretoken",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],
        "font.size": 9,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.edgecolor": FAINT,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "xtick.minor.size": 0,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 8,
        "axes.linewidth": 0.8,
    }
)


def canvas(columns, height, rows=1, **options):
    return plt.subplots(rows, columns, figsize=(9.4, height), squeeze=False, **options)


def finish(figure, title, note=""):
    """The SVG of `figure`, with its message above and what has to be known below."""
    height = figure.get_figheight()
    figure.text(0.012, 1 - 0.1 / height, title, fontsize=11.5, fontweight="bold", va="top")
    if note:
        figure.text(0.012, 0.06 / height, note, fontsize=8, va="bottom")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def margins(figure, left, right, top, bottom, **options):
    """Margins in inches, so that titles keep their distance whatever the height."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        top=1 - top / height,
        bottom=bottom / height,
        **options,
    )


def bare(axes):
    axes.spines["bottom"].set_visible(False)
    axes.set_xticks([])


def number(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def ratio(value):
    return f"{value:.2f}"


def bars_beside_peers(panels, title, note):
    figure, grid = canvas(2, 4.5, rows=2)
    margins(figure, 0.75, 0.25, 0.66, 0.3, hspace=0.26, wspace=0.2)
    for axes, (name, groups) in zip(grid.flat, panels):
        top, place, ticks = max(max(values.values()) for _, values in groups), 0, []
        for label, values in groups:
            ticks.append((place + (len(values) - 1) / 2, label))
            for engine, value in values.items():
                axes.barh(place, value, 0.82, color=ENGINE_COLOURS[engine])
                shown = (
                    f"{number(value)}  {ENGINE_NAMES[engine]}"
                    if label == groups[0][0]
                    else number(value)
                )
                axes.text(
                    value + top * 0.012,
                    place,
                    shown,
                    va="center",
                    fontsize=8,
                    color=ENGINE_COLOURS[engine] if engine == "foretoken" else INK,
                    fontweight="bold" if engine == "foretoken" else "normal",
                )
                place += 1
            place += 0.6
        axes.set_ylim(place - 1, -0.7)
        axes.set_xlim(0, top * 1.12)
        axes.set_yticks([y for y, _ in ticks], [label for _, label in ticks])
        axes.set_title(name)
        bare(axes)
    return finish(figure, title, note)


def decode(panels):
    return bars_beside_peers(
        panels,
        "Decode: tokens per second of one request",
        "Shape of Llama-3.2-1B, made-up weights. 4 bits: w4a8-g128 beside Q4_0 --pure with "
        "AMX, w4a8 beside Q4_0 without.",
    )


def prompt(panels):
    return bars_beside_peers(
        panels,
        "Prompt: tokens per second while a prompt of 512 tokens is read",
        "Shape of Llama-3.2-1B, made-up weights. llama.cpp on 16 cores reads prompts of 256 "
        "tokens.",
    )


def label_ends(axes, ends, gap, at_left):
    """Names of lines beside their ends, `gap` apart at least (in units of the y axis)."""
    place = -math.inf
    for y, x, name, colour in sorted(ends):
        place = max(y, place + gap)
        axes.text(
            x / 1.25 if at_left else x * 1.14,
            place,
            name,
            ha="right" if at_left else "left",
            va="center",
            fontsize=8,
            color=colour,
        )


def lines_panel(axes, lines, sizes, gap, at_left=False):
    """Lines over sizes on a logarithmic axis, named at the end where they lie apart."""
    ends = []
    for name, points in lines:
        xs, ys = zip(*points)
        axes.plot(
            xs,
            ys,
            color=LINE_COLOURS[name],
            linewidth=1.8,
            marker="o",
            markersize=3.5,
            clip_on=False,
        )
        end = 0 if at_left else -1
        ends.append((ys[end], xs[end], name.replace("1 tokens", "1 token"), LINE_COLOURS[name]))
    axes.set_xscale("log", base=2)
    axes.minorticks_off()
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    label_ends(axes, ends, gap, at_left)


def verified_rows(panels):
    figure, grid = canvas(4, 3.1, sharey=True)
    margins(figure, 0.4, 0.75, 0.68, 0.66, wspace=0.42)
    sizes = (1, 4, 16, 64)
    for axes, (name, lines) in zip(grid.flat, panels):
        axes.plot((1, 6.3), (1, 6.3), color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
        lines_panel(axes, lines, sizes, 0.42)
        axes.set_ylim(0, 6.3)
        axes.set_xlim(0.9, 70)
        axes.set_title(name)
    grid.flat[0].text(6.6, 5.55, "row by row", fontsize=8)
    figure.text(0.5, 0.3 / 3.1, "rows verified in a step", ha="center", fontsize=8.5)
    return finish(
        figure,
        "Verified rows: what a step of n rows takes, in steps of one row",
        "Shape of Llama-3.2-1B, made-up weights, two cores. Dotted: as if each row were a "
        "step of its own.",
    )


def load(panels):
    figure, grid = canvas(3, 3.1, sharey=True)
    margins(figure, 1.25, 0.5, 0.68, 0.66, wspace=0.66)
    for axes, (name, lines) in zip(grid.flat, panels):
        axes.axhline(1, color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
        lines_panel(axes, lines, (1, 4, 16, 64, 256), 0.14, at_left=True)
        axes.set_ylim(0.8, 2.8)
        axes.set_xlim(0.9, 270)
        axes.set_yticks((1, 1.5, 2, 2.5))
        axes.yaxis.tick_right()
        axes.tick_params(labelright=axes is grid.flat[-1])
        axes.set_title(name)
    figure.text(0.5, 0.3 / 3.1, "requests at once", ha="center", fontsize=8.5)
    return finish(
        figure,
        "Load: speed over plain decoding as requests come together",
        "Two cores with AMX, trees sized by measured cost (--draft-budget auto). Dotted: "
        "plain decoding. Left and middle: demo model; right: shape of Llama-3.2-1B.",
    )


DRAFTER_SCALES = (3.1, 6.0, 4.9, 7.8)  # of the panels' axes, which have the same unit


def drafters(figures):
    rows, panels = figures
    figure, grid = canvas(
        len(panels), 3.1, sharey=True, gridspec_kw={"width_ratios": DRAFTER_SCALES}
    )
    margins(figure, 1.6, 0.2, 0.68, 0.3, wspace=0.1)
    for axes, (name, values) in zip(grid.flat, panels):
        for place, drafter in enumerate(rows):
            if drafter not in values:
                continue
            best = values[drafter] == max(values.values())
            axes.barh(place, values[drafter], 0.66, color=BLUE if best else GREY)
            axes.text(
                values[drafter] + 0.08,
                place,
                ratio(values[drafter]),
                va="center",
                fontsize=8,
                fontweight="bold" if best else "normal",
                color=BLUE if best else INK,
            )
        axes.axvline(1, color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.set_title(name, fontsize=9)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), rows)
        axes.spines["left"].set_visible(False)
        bare(axes)
    for axes, scale in zip(grid.flat, DRAFTER_SCALES):
        axes.set_xlim(0, scale)
    return finish(
        figure,
        "Drafters: speed over plain decoding, by kind of text",
        "Demo model, one request at a time, two cores with AMX (* four cores of a Zen 4). "
        "Dotted: plain decoding. Blue: the best of a kind.",
    )


def coupling(rows):
    figure, grid = canvas(1, 2.15)
    margins(figure, 2.05, 0.6, 0.45, 0.3)
    axes = grid[0][0]
    for place, (_, never, auto) in enumerate(rows):
        axes.plot(
            (never, auto),
            (place, place),
            color=FAINT,
            linewidth=3,
            solid_capstyle="round",
            zorder=1,
        )
        axes.scatter([never], [place], color=GREY, s=34, zorder=2)
        axes.scatter([auto], [place], color=BLUE, s=34, zorder=2)
        axes.text(never - 0.025, place, ratio(never), ha="right", va="center", fontsize=8)
        axes.text(
            auto + 0.025, place, ratio(auto), va="center", fontsize=8, color=BLUE, fontweight="bold"
        )
    axes.text(rows[0][1], -0.62, "most probable", ha="center", fontsize=8)
    axes.text(rows[0][2], -0.62, "coupled", ha="center", fontsize=8, color=BLUE, fontweight="bold")
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.9)
    axes.set_xlim(1, 2.6)
    axes.spines["left"].set_visible(False)
    bare(axes)
    return finish(
        figure,
        "Coupled drafts: tokens a step accepts at temperature 1",
        "Demo model, the 80 questions of MT-bench, whole trees. Plain decoding: 1.",
    )


def structured(loads):
    names = (("plain", GREY), ("EAGLE3", SAND), ("grammar", GREEN), ("both", BLUE))
    figure, grid = canvas(len(loads), 2.3, sharex=True)
    margins(figure, 0.8, 0.35, 0.8, 0.3, wspace=0.18)
    for axes, (title, values) in zip(grid.flat, loads):
        for place, ((_, colour), value) in enumerate(zip(names, values)):
            axes.barh(place, value, 0.72, color=colour)
            axes.text(
                value + 40,
                place,
                f"{value:.0f}",
                va="center",
                fontsize=8,
                color=BLUE if place == 3 else INK,
                fontweight="bold" if place == 3 else "normal",
            )
        axes.set_title(title[0].upper() + title[1:].replace(", ", ",\n"), fontsize=8.5)
        axes.set_ylim(3.6, -0.6)
        axes.set_xlim(0, 3500)
        axes.set_yticks(range(4), [name for name, _ in names] if axes is grid.flat[0] else [""] * 4)
        bare(axes)
    return finish(
        figure,
        "Structured output: tokens per second by who drafts",
        "Demo model, one request at a time, two cores with AVX-512 and no bf16 instructions.",
    )


def speedup(panels):
    figure, grid = canvas(2, 2.6)
    margins(figure, 1.75, 0.2, 0.62, 0.36, wspace=0.62)
    for axes, (title, bars) in zip(grid[0], panels):
        for place, (engine, drafts, value) in enumerate(bars):
            color = ENGINE_COLOURS[engine]
            axes.barh(place, value, 0.68, color=color)
            axes.text(value + 0.06, place, f"{value:.2f}×", va="center", fontsize=10, color=color)
        names = [
            f"{engine}, {'plain' if drafts == 'none' else drafts}" for engine, drafts, _ in bars
        ]
        axes.set_title(title)
        axes.set_ylim(len(bars) - 0.5, -0.6)
        axes.set_xlim(0, 4.2)
        axes.set_yticks(range(len(bars)), names, fontsize=8.5)
        axes.spines["left"].set_visible(False)
        bare(axes)
    return finish(
        figure,
        "Same file, same cores: speed over plain decoding",
        "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, over HTTP; two cores with AVX512_BF16. "
        "One request at a time.",
    )
