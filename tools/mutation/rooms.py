"""The rooms (folders of src), the suites that should notice a fault in them, and the files that faults go into."""
import collections
import re

# In the order of work: what takes longest comes last. The room's own suites first. Those in SCRIPTS run the whole program.
SUITES = {
    "base": ["base_tests"],
    "tensor": ["tensor_tests", "checkpoint_tests"],
    "kv": ["kv_tests", "engine_tests"],
    "batch": ["batch_tests", "engine_tests"],
    "engine": ["engine_tests", "out_of_memory_tests"],
    "model": ["model_tests", "golden_tests"],
    "checkpoint": ["checkpoint_tests", "hub_tests", "model_tests", "hub"],
    "text": ["text_tests", "server_tests"],
    "draft": ["draft_tests", "pace_simulation_tests", "golden_tests", "app_tests"],
    "backend": ["backend_tests", "golden_tests", "engine_tests"],
    "vulkan": ["vulkan_tests"],
    "server": ["server_tests", "cli", "cli_flags"],
    "tune": ["tune_tests", "cli_tune"],
    "app": ["app_tests", "host_tests", "chat_tests", "cli", "cli_flags", "cli_shells", "cli_chat", "cli_tune"],
}
SCRIPTS = {"cli": ["python3", "tests/cli/cli_test.py", "build/release/foretoken"],
           "cli_flags": ["python3", "tests/cli/flags_test.py", "build/release/foretoken"],
           "cli_shells": ["python3", "tests/cli/shell_test.py", "build/release/foretoken"],
           "cli_chat": ["python3", "tests/cli/chat_test.py", "build/release/foretoken", "models"],
           "cli_tune": ["python3", "tests/cli/tune_test.py", "build/release/foretoken", "."],
           "hub": ["python3", "tests/hub/hub_test.py", "build/release/foretoken", "models"]}
# Rooms that lie deeper than src/ROOM.
FOLDERS = {"vulkan": "src/backend/vulkan"}
# What starts a suite that needs more than its program.
STARTERS = {"vulkan_tests": ["tools/vulkan_run.sh"]}

# A header that more sources include than this, tests aside, is left out: its faults would rebuild everything.
WIDEST_HEADER = 8
# What these sources include is compiled once for each instruction set, most of which a machine lacks.
_PER_INSTRUCTION_SET = "src/backend/cpu/isa/"
_OTHER_MACHINES = re.compile(r"avx512|amx|neon|vnni|cpu/table/isa\.|v16_probe")


def files(root):
    """Room -> its files that faults may go into, as paths from the root."""
    includes = _includes(root)
    users = collections.defaultdict(set)  # header -> sources that see it
    for source in includes:
        if source.endswith(".cc") and not source.endswith("_test.cc") and "/testing/" not in source:
            for header in _reached(source, includes):
                users[header].add(source)
    found = {}
    for room in SUITES:
        paths = [str(path.relative_to(root)) for path in sorted((root / _folder(room)).rglob("*"))]
        found[room] = [path for path in paths if _may_hold_faults(path, users) and not _is_deeper(room, path)]
    return found


def _folder(room):
    return FOLDERS.get(room, f"src/{room}")


def _is_deeper(room, path):
    """Whether a file of this room's folder is of a room within it."""
    return any(path.startswith(folder + "/") for other, folder in FOLDERS.items() if other != room)


def _may_hold_faults(path, users):
    if not path.endswith((".cc", ".h")) or path.endswith("_test.cc") or "/testing/" in path:
        return False
    if path.startswith(_PER_INSTRUCTION_SET) or _OTHER_MACHINES.search(path):
        return False
    if path.endswith(".cc"):
        return True
    return 0 < len(users[path]) <= WIDEST_HEADER and not any(u.startswith(_PER_INSTRUCTION_SET) for u in users[path])


def _includes(root):
    found = {}
    for path in (root / "src").rglob("*"):
        if path.suffix in (".cc", ".h"):
            names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)
            found[str(path.relative_to(root))] = {"src/" + name for name in names}
    return found


def _reached(source, includes):
    seen, pending = set(), [source]
    while pending:
        for name in includes.get(pending.pop(), ()):
            if name in includes and name not in seen:
                seen.add(name)
                pending.append(name)
    return seen
