#!/usr/bin/env python3
"""Makes docs/pictures/page.png, the picture of the page in the README: an answer of a model with its draft tree.

  tools/page_picture.py [--binary FILE] [--model MODEL] [--question TEXT] [--out FILE] [-- flags of serve]

The one in the README is of Qwen2.5-Coder, 1.5B drafted by 0.5B, both Q4_K_M:

  tools/page_picture.py --model 1.5B.gguf --question "Write a Python function that returns the n-th Fibonacci number." \\
    -- --draft-budget full --speculative-algorithm STANDALONE+SUFFIX --speculative-draft-model-path 0.5B.gguf \\
    --speculative-num-steps 4 --speculative-eagle-topk 2 --speculative-num-draft-tokens 8

Needs chromium and chromium-driver. Text and tree depend on the model and the flags alone; the speed is this machine's.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import replicas

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/web"))
import browser as web  # noqa: E402

web.PATIENCE = 280  # a large model on a small machine

WIDTH, HEIGHT = 1120, 700
DRAFTS = ["--speculative-algorithm", "EAGLE3+SUFFIX", "--speculative-draft-model-path", str(ROOT / "models/demo-eagle3")]


def show_a_good_step(page):
    """The latest of the steps in which the most drafts were accepted."""
    names = []
    while not names or names[-1] != page.text("#step-name"):
        names.append(page.text("#step-name"))
        page.click("#step-back")
    accepted = [int(re.search(r"(\d+) accepted", name)[1]) for name in names]
    for _ in range(len(names) - 1 - accepted.index(max(accepted))):
        page.click("#step-on")


def take(address, question, out):
    page = web.Browser(WIDTH, HEIGHT)
    try:
        page.size(WIDTH, HEIGHT)
        page.open(address + "/")
        page.until(lambda: page.js("return document.documentElement.dataset.ready"), "the page")
        page.click("#colours")
        page.js("document.querySelector('[data-field=temperature]').value = 0")
        page.js("document.getElementById('prompt').value = arguments[0]", question)
        page.click("#send")
        page.until(lambda: page.is_shown("#send") and page.is_shown("#tree svg"), "the end of the answer")
        show_a_good_step(page)
        page.screenshot(out)
    finally:
        page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/foretoken"))
    parser.add_argument("--model", default=str(ROOT / "models/demo"))
    parser.add_argument("--question", default="Write a Python function that adds two numbers.")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/pictures/page.png")
    parser.add_argument("flags", nargs="*", default=DRAFTS, help="of `foretoken serve`, behind --")
    args = parser.parse_args()
    if missing := web.missing():
        sys.exit(f"page_picture: there is no {', no '.join(missing)}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    flags = ["--served-model-name", pathlib.Path(args.model).name, *args.flags]
    with tempfile.TemporaryDirectory() as folder:
        server = replicas.Replica(0, args.binary, args.model, flags, pathlib.Path(folder))
        try:
            take(server.wait().url, args.question, args.out)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
