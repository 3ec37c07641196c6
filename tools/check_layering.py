#!/usr/bin/env python3
"""Checks that every file under src includes only what stands below it.

ORDER lists the rooms of src from the bottom up. A room is a folder, or a file (`backend/backend`: both parts of the
pair) that stands in another place than its folder. A file includes its own room and rooms further down the list.

  - text/ stands beside the list: it includes base only, and is included by server and app only
  - of kv, page_pool, prefix_hashes and radix_cache include base only
  - tests (*_test.cc) and folders called testing/ stand above everything in their first folder, and nothing else includes
    them
  - a folder of src that the list lacks is a fault
  - headers do not include each other in a circle

With --self-test, checks that each rule fires on a made-up violation.
"""
import pathlib
import re
import sys

ORDER = [
    "base",
    "tensor",
    "batch",
    # what a machine has to offer, then one machine after the other, then the factory that knows all of them
    "backend", "backend/ops", "backend/host", "backend/reference",
    "backend/cpu/table", "backend/cpu/simd", "backend/cpu/rows", "backend/cpu/matmul/kernels", "backend/cpu/matmul",
    "backend/cpu/attention", "backend/cpu/experts", "backend/cpu/isa", "backend/cpu/isa/absent", "backend/cpu/select", "backend/cpu",
    "backend/vulkan/spirv", "backend/vulkan", "backend/backend",
    "kv",
    "checkpoint/formats", "checkpoint/formats/gguf", "checkpoint", "checkpoint/hub", "checkpoint/quantized", "checkpoint/packed",
    "model/config", "model/config/families", "model/decoder", "model", "model/heads",
    "draft", "draft/pace", "draft/with_model", "draft/from_text", "draft/from_text/ngram", "draft/from_text/suffix",
    "draft/catalogue",
    "engine",
    "tune",
    "server/json", "server/http", "server/context", "server/structured", "server/chat", "server/request",
    "server/routes/openai", "server/routes/anthropic", "server/routes/sglang", "server/routes/page", "server",
    "app/flags", "app/machine", "app/options", "app/host", "app/chat", "app/commands", "app",
]
TEXT = ["text", "text/dialogue", "text/dialogue/families", "text/rust"]
PAGES_AND_PREFIXES = re.compile(r"kv/(page_pool|prefix_hashes|radix_cache)\b")
MACHINES = {"reference", "cpu", "vulkan"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SOURCES = (".h", ".cc", ".inc")


def stem(path):
    """Both parts of a pair of header and source are one: backend/ops.cc -> backend/ops."""
    return path.rsplit(".", 1)[0]


def is_test(path):
    return path.endswith("_test.cc") or "/testing/" in path


def room(path):
    """The room that a file stands in, or None."""
    for name in (path, stem(path)):
        if name in ORDER:
            return name
    folder = path.rpartition("/")[0]
    return folder if folder in ORDER or folder in TEXT else None


def first(path):
    return path.split("/")[0]


def machine(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "backend" and parts[1] in MACHINES else None


def fault(path, target):
    """Why the file `path` may not include `target` (both relative to src), or None."""
    if "/" not in target:
        return "is not rooted at src"
    own, other = first(path), first(target)
    if "text" in (own, other):
        allowed = {"text": ("text", "base")}.get(own, ("text",) if own in ("server", "app") else ())
        return None if other in allowed else "crosses the wall around text"
    if own not in map(first, ORDER) or other not in map(first, ORDER):
        return "names no folder of the layering"
    if is_test(target) and not is_test(path):
        return "is for tests only"
    if is_test(path):
        below = max(i for i, name in enumerate(ORDER) if first(name) == own)
        lowest = min(i for i, name in enumerate(ORDER) if first(name) == other)
        return None if lowest <= below else "stands above " + own
    if room(path) is None:
        return "is included by a file whose folder the layering lacks"
    if room(target) is None:
        return "lies in a folder that the layering lacks"
    if PAGES_AND_PREFIXES.match(path) and other != "base" and not PAGES_AND_PREFIXES.match(target):
        return "is not base: pages and prefixes are integers only"
    if machine(target) and machine(path) != machine(target) and room(path) != "backend/backend":
        return "belongs to one machine's backend"
    if ORDER.index(room(target)) > ORDER.index(room(path)):
        return f"stands above {room(path)}"
    return None


def circle(includes):
    """A circle among headers: includes[stem] is what it includes; the stems along it, or None."""
    done = set()

    def walk(name, trail):
        if name in trail:
            return trail[trail.index(name):] + [name]
        if name in done:
            return None
        for target in sorted(includes.get(name, ())):
            if found := walk(target, trail + [name]):
                return found
        done.add(name)
        return None

    for name in sorted(includes):
        if found := walk(name, []):
            return found
    return None


def check(root):
    faults, includes = [], {}
    for file in sorted(root.rglob("*")):
        if file.suffix not in SOURCES:
            continue
        path = file.relative_to(root).as_posix()
        folder = path.rpartition("/")[0]
        if not is_test(path) and room(path) is None:
            faults.append(f"src/{path}: the folder {folder} is not in the layering")
        for target in INCLUDE.findall(file.read_text()):
            if reason := fault(path, target):
                faults.append(f'src/{path}: "{target}" {reason}')
            if file.suffix != ".cc" and stem(target) != stem(path):
                includes.setdefault(stem(path), set()).add(stem(target))
    if found := circle(includes):
        faults.append("a circle of includes: " + " -> ".join(found))
    unused = [name for name in ORDER if not (root / name).exists() and not (root / (name + ".h")).is_file()]
    return faults + [f"the layering names {name}, which is not there" for name in unused]


def self_test():
    forbidden = {
        ("base/log.cc", "tensor/tensor.h"): "above",
        ("model/decoder/decoder.cc", "engine/engine.h"): "above",
        ("server/server.cc", "app/options/options.h"): "above",
        # within a first folder
        ("model/decoder/decoder.h", "model/heads/head_config.h"): "above",
        ("draft/pace/measured_pace.cc", "draft/with_model/draft_reader.h"): "above",
        ("backend/cpu/matmul/gemm.cc", "backend/cpu/select/kernel_check.h"): "above",
        ("server/http/router.h", "server/server.h"): "above",
        ("backend/ops.h", "backend/backend.h"): "above",
        # walls
        ("model/decoder/decoder.cc", "backend/cpu/matmul/gemm.h"): "machine",
        ("backend/reference/reference_ops.cc", "backend/cpu/matmul/gemm.h"): "machine",
        ("backend/cpu/cpu_ops.cc", "backend/reference/reference_ops.h"): "machine",
        ("kv/radix_cache.h", "tensor/tensor.h"): "integers",
        ("kv/radix_cache.h", "kv/kv_store.h"): "integers",
        ("text/tokenizer.cc", "tensor/tensor.h"): "wall",
        ("engine/engine.cc", "text/tokenizer.h"): "wall",
        # tests
        ("engine/engine.cc", "engine/testing/hash_model.h"): "for tests",
        ("engine/engine_test.cc", "tune/replay.h"): "above",
        # names
        ("server/server.cc", "server.h"): "rooted",
        ("server/server.cc", "elsewhere/file.h"): "no folder",
        ("server/server.cc", "server/other/file.h"): "lacks",
        ("model/other/file.cc", "base/error.h"): "lacks",
    }
    permitted = [
        ("base/log.cc", "base/log.h"),
        ("backend/backend.cc", "backend/cpu/cpu_ops.h"),
        ("backend/cpu/matmul/gemm.cc", "backend/cpu/matmul/gemm.h"),
        ("backend/cpu/cpu_ops.cc", "backend/host/host_step.h"),
        ("kv/radix_cache.h", "kv/page_pool.h"),
        ("text/tokenizer.cc", "base/error.h"),
        ("text/text_stream.cc", "text/dialogue/dialogue.h"),
        ("server/server.cc", "text/tokenizer.h"),
        ("model/heads/head_draft.h", "model/draft_model.h"),
        ("app/main.cc", "engine/engine.h"),
        ("tune/replay.cc", "draft/drafter.h"),
        ("model/config/model_config_test.cc", "model/heads/head_config.h"),
        ("engine/engine_test.cc", "backend/testing/delayed_ops.h"),
    ]
    wrong = [f"{path} including {target} is judged wrongly: {fault(path, target)}"
             for (path, target), words in forbidden.items() if words not in (fault(path, target) or "")]
    wrong += [f"{path} including {target} is refused: {fault(path, target)}"
              for path, target in permitted if fault(path, target)]
    if circle({"a/x": {"a/y"}, "a/y": {"a/z"}, "a/z": {"a/y"}}) != ["a/y", "a/z", "a/y"]:
        wrong.append("a circle inside a room is not found")
    if circle({"a/x": {"a/y", "a/z"}, "a/y": {"a/z"}, "a/z": set()}):
        wrong.append("a circle is found where there is none")
    return ["self test: " + line for line in wrong]


def main():
    faults = self_test() if "--self-test" in sys.argv else check(pathlib.Path(__file__).parents[1] / "src")
    print("\n".join(faults) if faults else "layering: no fault")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
