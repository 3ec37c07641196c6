"""`tools/mutate.py --self-test`: what the generator finds in a small text, what it leaves alone, and how it draws."""
import pathlib
import tempfile

from . import draw, faults, rooms, schemata, tokens, verdicts

# A text, and the faults expected of it as "line kind: detail", in order.
CASES = [
    ("int f(int a, int b) {\n  if (a < b) return 1;\n  g(a, b);\n  return a + 2;\n}\n", [
        "2 early_return: a < b", "2 comparison: < -> >=", "2 border: < -> <=", "2 constant: 1 -> 2",
        "2 constant: 1 -> 0", "3 deleted: g ( a , b )", "3 swapped: g(a, b)", "4 arithmetic: + -> -",
        "4 constant: 2 -> 3", "4 constant: 2 -> 1"]),
    ("bool f(bool a, bool b) {\n  while (a && !b) ++n;\n  return a ? x_ == y_ : false;\n}\n", [
        "2 boolean: && -> ||", "2 deleted: ++ n", "2 arithmetic: ++ -> --", "3 negated: a", "3 comparison: == -> !=",
        "3 constant: false -> true"]),
    ("T::T(int a) : a_(a), b_{0} {\n  a_ = std::min(a, 0.5F);\n}\n", [
        "2 deleted: a_ = std :: min ( a , 0.5F )", "2 extreme: min -> max", "2 constant: 0.5F -> 1.0F"]),
    ("constexpr int kA = 3;\nvoid f() {\n  for (const auto& x : xs) {\n    if (x) break;\n    y -= x;\n  }\n}\n", [
        "1 constant: 3 -> 4", "1 constant: 3 -> 2", "4 negated: x", "4 early_return: x", "5 deleted: y -= x",
        "5 arithmetic: -= -> +="]),
    # Declarations, templates, texts for people, what the compiler computes, hints.
    ("template <int N = 1>\nstruct S {\n  S();\n  int a = 0;\n  std::vector<int> v;\n  void f(int a = 1) const;\n};\n", []),
    ("void f() {\n  log_info(\"{} < {}\", a < b, 1);\n  v.reserve(n);\n  std::vector<A> x(B);\n  CHECK(x) << y;\n}\n", []),
    ("constexpr int f(int a) {\n  return a < 1 ? 2 : 3;\n}\nvoid g() {\n  static_assert(1 < 2);\n  T<1> x;\n"
     "  if constexpr (a < b) {\n  }\n  // a < b\n  /* g(); */\n}\n#define M(a) ((a) < 1)\n", []),
    ("void f(T& t) {\n  T&& u = t;\n  const A* p = q;\n  A<B> c;\n  switch (t) {\n    case 1:\n      break;\n  }\n}\n",
     ["7 deleted: break"]),
]

SOURCE = "int f(int a) {\n  h(a);\n  if (a < 3) return 4;\n  return a;\n}\n"


def _of_texts():
    for text, wanted in CASES:
        found = [f"{fault.line} {fault.kind}: {fault.detail}" for fault in faults.Generator(tokens.Source(text)).find()]
        if sorted(found) != sorted(wanted):
            yield f"self test: in {text[:70]!r}: unexpected {set(found) - set(wanted)}, missing {set(wanted) - set(found)}"


def _of_draws(folder):
    """A draw depends on its seed alone, fills its size, and its faults do not overlap."""
    for name in ("a", "b"):
        (folder / "src/base").mkdir(parents=True, exist_ok=True)
        (folder / f"src/base/{name}.cc").write_text(SOURCE)
    (folder / "src/base/a_test.cc").write_text(SOURCE)
    found = draw.possible(folder)
    if set(found["base"]) != {"src/base/a.cc", "src/base/b.cc"}:
        yield f"self test: faults go into {set(found['base'])}"
    drawn = []
    draw.Urn(folder, found, 6, 1).deal(drawn)
    again = []
    draw.Urn(folder, found, 6, 1).deal(again)
    if drawn != again or len(drawn) != 6:
        yield f"self test: {len(drawn)} and {len(again)} faults drawn instead of 6, the same ones"
    for a in drawn:
        if any(a is not b and a.file == b.file and a.start < b.end and b.start < a.end for b in drawn):
            yield "self test: drawn faults overlap"
    first = drawn[0]
    first.state = "does not compile"
    draw.Urn(folder, found, 6, 1).deal(drawn)
    if sum(1 for fault in drawn if fault.state == "in") != 6:
        yield "self test: what does not compile is not replaced"
    if len(draw.shares({room: 100 for room in rooms.SUITES}, 300)) != len(rooms.SUITES):
        yield "self test: a room has no share"


def _of_verdicts(folder):
    """What was written is read again, and a verdict outlives another run."""
    fault = draw.Drawn("1", 7, "base", "src/a.cc", "border", 3, 'if (a < "x\\n") {', "< -> <=", 0, 1, "")
    path = folder / "drawn.toml"
    for wanted in (None, "equivalent: why"):
        said = verdicts.Verdicts(path)
        if said.of(fault) != wanted:
            yield f"self test: the verdict {wanted} is read as {said.of(fault)}"
        said.add_survivor(fault)
        said.set_score(7, 300, {"base": [1, 2, 0, 5]})
        said.write()
        path.write_text(path.read_text().replace('verdict = ""', 'verdict = "equivalent: why"'))


def _of_errors():
    text = ("src/a.cc:12:5: error: no\nIn file included from ../../src/b.h:3,\n"
            "                 from ../../src/c.cc:7:\n")
    named = [(m["file"] or m["from"], m["line"] or m["at"]) for m in schemata.ERROR.finditer(text)]
    if named != [("src/a.cc", "12"), ("../../src/b.h", "3"), ("../../src/c.cc", "7")]:
        yield f"self test: the compiler names {named}"


def run():
    """What is wrong, one line each."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        return [*_of_texts(), *_of_draws(folder), *_of_verdicts(folder), *_of_errors()]
