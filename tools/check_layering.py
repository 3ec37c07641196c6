#!/usr/bin/env python3
"""Checks that every file under src includes its own folder and folders to its left only.

Rules: base < tensor < batch < backend < kv < model < spec < engine < tune < server < app; text includes only
base and is included only by server and app; backend/<machine> is included only by itself and by the
factory backend/backend.cc; of kv, page_pool, prefix_hashes and radix_cache include only base.
With --self-test, checks that each rule fires on a made-up violation.
"""
import pathlib
import re
import sys

ORDER = ["base", "tensor", "batch", "backend", "kv", "model", "spec", "engine", "tune", "server", "app"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
MACHINE = re.compile(r"^backend/(?P<machine>[^/]+)/")


def fault(path, target):
    """Why the file `path` may not include `target` (both relative to src), or None."""
    if "/" not in target:
        return "is not rooted at src"
    own, other = path.split("/")[0], target.split("/")[0]
    machine = MACHINE.match(target)
    if machine and not path.startswith(machine.group(0)) and path != "backend/backend.cc":
        return "belongs to one machine's backend"
    if re.match(r"kv/(page_pool|prefix_hashes|radix_cache)", path) and other != "base":
        if not re.match(r"kv/(page_pool|prefix_hashes|radix_cache)", target):
            return "is not base: pages and prefixes are integers only"
    if own == "text" or other == "text":
        allowed = {"text": ["text", "base"]}.get(own, [] if own not in ("server", "app") else ["text"])
        return None if other in allowed else "crosses the wall around text"
    if own not in ORDER or other not in ORDER:
        return "names no folder of the layering"
    return None if ORDER.index(other) <= ORDER.index(own) else "is to the right of " + own


def check(root):
    faults = []
    for file in sorted(root.rglob("*")):
        if file.suffix not in (".h", ".cc", ".inc", ".cu"):
            continue
        path = file.relative_to(root).as_posix()
        for target in INCLUDE.findall(file.read_text()):
            reason = fault(path, target)
            if reason:
                faults.append(f'src/{path}: "{target}" {reason}')
    return faults


def self_test():
    forbidden = [
        ("base/log.cc", "tensor/tensor.h"),
        ("model/decoder/decoder.cc", "engine/engine.h"),
        ("model/decoder/decoder.cc", "backend/cpu/matmul/gemm.h"),
        ("backend/reference/ops.cc", "backend/cpu/matmul/gemm.h"),
        ("kv/radix_cache.h", "tensor/tensor.h"),
        ("text/tokenizer.cc", "tensor/tensor.h"),
        ("engine/engine.cc", "text/tokenizer.h"),
        ("server/server.cc", "app/options/options.h"),
        ("engine/engine.cc", "tune/replay.h"),
        ("server/server.cc", "server.h"),
        ("server/server.cc", "elsewhere/file.h"),
    ]
    permitted = [
        ("base/log.cc", "base/log.h"),
        ("backend/backend.cc", "backend/cpu/cpu_ops.h"),
        ("backend/cpu/matmul/gemm.cc", "backend/cpu/matmul/gemm.h"),
        ("kv/radix_cache.h", "kv/page_pool.h"),
        ("text/tokenizer.cc", "base/error.h"),
        ("server/server.cc", "text/tokenizer.h"),
        ("app/main.cc", "engine/engine.h"),
        ("tune/replay.cc", "draft/drafter.h"),
    ]
    wrong = [pair for pair in forbidden if not fault(*pair)] + [pair for pair in permitted if fault(*pair)]
    return [f"self test: {path} including {target} is judged wrongly" for path, target in wrong]


def main():
    faults = self_test() if "--self-test" in sys.argv else check(pathlib.Path(__file__).parents[1] / "src")
    print("\n".join(faults) if faults else "layering: no fault")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
