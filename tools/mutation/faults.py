"""The generator: every place of a C++ text at which one of the kinds of fault below can be put, as a Fault.

A Fault replaces a span of the text by code that holds the right and the wrong version and asks `ft_fault(N)` at run
time which one to take (fault_switch.h). The wrong version is written on one line, so no line moves.

What is left out, because no test could tell: text for people (log lines, strings), constants of the compiler
(static_assert, constexpr functions, case labels), hints (reserve, shrink_to_fit) and CHECKs of what never happens.
"""
import dataclasses
import re

KINDS = {
    "comparison": "== and !=, < and >= exchanged",
    "border": "< and <=, > and >= exchanged",
    "boolean": "&& and || exchanged",
    "negated": "a condition of if, while or ?: negated",
    "early_return": "an `if` before return, continue, break or throw never holds",
    "deleted": "a statement left out",
    "constant": "a number one more or one less, a fraction doubled, true and false exchanged",
    "arithmetic": "+ and -, * and /, += and -=, ++ and -- exchanged",
    "extreme": "min and max exchanged",
    "swapped": "two arguments of a call exchanged",
}

_COMPARISONS = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_BORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_LOOSE = {",", ";", "?", ":", "return", "co_return", "throw", "case", "else", "do", "co_yield"} | _ASSIGNMENTS
_LEAVES = {"return", "continue", "break", "throw"}
_HINTS = {"reserve", "shrink_to_fit", "assert", "static_assert", "prefetch", "__builtin_prefetch", "CHECK"}
_DECLARES = {"const", "auto", "static", "constexpr", "using", "typedef", "struct", "class", "enum", "union", "template",
             "return", "if", "for", "while", "switch", "case", "default", "else", "do", "goto", "break", "continue",
             "throw", "public", "private", "protected", "friend", "mutable", "thread_local", "unsigned", "int", "bool",
             "float", "double", "char", "void", "delete", "new", "co_return", "co_await", "co_yield", "try", "catch",
             "asm", "extern", "inline", "virtual", "explicit", "operator", "namespace", "static_assert", "volatile"}
_INTEGER = re.compile(r"(\d[\d']*)([uUlLzZ]*)$")
_FRACTION = re.compile(r"(\d[\d']*\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)([fF]?)$")


@dataclasses.dataclass(slots=True)
class Fault:
    kind: str
    start: int  # the span of the text that is replaced
    end: int
    line: int  # where it is, from 1
    detail: str  # what becomes what, for people
    code: str  # what replaces the span; @N@ is the number of the fault

    def key(self):
        return f"{self.kind}: {self.detail}"


class Generator:
    """All faults of one Source."""

    def __init__(self, source):
        self.source = source
        self.tokens = source.tokens
        self.faults = []
        self.forbidden = [False] * len(self.tokens)
        self._forbid()

    def find(self):
        for i, token in enumerate(self.tokens):
            if self.source.scope[i] != "function" or self.forbidden[i]:
                continue
            if token.kind == "op" and self.source.is_spaced(i):
                self._operator(i)
            if token.kind == "number" or token.text in ("true", "false"):
                self._constant(i)
            if token.text in ("if", "while") and self.source.is_at(i + 1, "("):
                self._condition(i)
            if token.text == "?":
                self._chosen(i)
            if token.text == "(":
                self._call(i)
            self._statement(i)
        self._named_constants()
        return self.faults

    # What no fault is put into.

    def _forbid(self):
        for i, token in enumerate(self.tokens):
            if token.text in ("static_assert", "sizeof", "alignas", "decltype") and self.source.is_at(i + 1, "("):
                self._forbid_span(i, self.source.match[i + 1])
            elif token.text == "constexpr":
                self._forbid_constexpr(i)
            elif token.text == "case":
                self._forbid_until(i, ":")
            elif token.text in ("using", "typedef", "asm", "__asm__"):
                self._forbid_until(i, ";")
            elif token.text == "operator" and i + 1 < len(self.tokens):
                self.forbidden[i + 1] = True
            elif token.text.startswith("log_") and self.source.is_at(i + 1, "("):
                if self.source.scope[i] == "function" and self.source.statement_start(i) == i:
                    self._forbid_span(i, self.source.match[i + 1])
            elif token.text == "[" and self.source.is_at(i + 1, "["):
                self._forbid_span(i, self.source.match[i])

    def _forbid_span(self, begin, end):
        self.forbidden[begin:end + 1] = [True] * (end + 1 - begin)

    def _forbid_until(self, i, text):
        end = i
        while end < len(self.tokens) - 1 and self.tokens[end].text != text:
            end += 1
        self._forbid_span(i, end)

    def _forbid_constexpr(self, i):
        """`if constexpr (..)`; a constexpr variable; a constexpr function with its body."""
        if self.source.is_at(i - 1, "if"):
            return self._forbid_span(i, self.source.match[i + 1])
        at = i
        while at < len(self.tokens) - 1 and self.tokens[at].text != ";":
            if self.tokens[at].text == "{":
                at = self.source.match[at]
                if self.source.braces[self.source.match[at]] != "init":
                    break
            elif self.tokens[at].text in "([" and at in self.source.match:
                at = self.source.match[at]
            at += 1
        self._forbid_span(i, at)

    # Spans of expressions.

    def _span(self, i, stops):
        """The operands around the operator at i: tokens [begin, end) up to what binds less tightly."""
        begin = i
        while begin > 0:
            before = begin - 1
            text = self.tokens[before].text
            if text in "([{;" or text in stops or self._is_stop(before, stops):
                break
            if text in (")", "]"):
                opened = self.source.match[before]
                if text == ")" and self.source.is_at(opened - 1, "if", "for", "while", "switch", "constexpr"):
                    break
                begin = opened
            elif text == "}":
                if self.source.braces.get(self.source.match[before]) != "init" and not self._is_inside(before):
                    break
                begin = self.source.match[before]
            else:
                begin = before
        end = i + 1
        while end < len(self.tokens):
            text = self.tokens[end].text
            if text in (")", "]", "}", ";") or text in stops or self._is_stop(end, stops):
                break
            end = self.source.match[end] + 1 if end in self.source.match else end + 1
        return begin, end

    def _is_inside(self, i):
        around = self.source.around[i]
        return around >= 0 and self.tokens[around].text in "(["

    def _is_stop(self, i, stops):
        return f" {self.tokens[i].text} " in stops and self.source.is_spaced(i)

    def _add(self, kind, begin, end, detail, code):
        """`code` replaces tokens [begin, end)."""
        start, stop = self.tokens[begin].start, self.tokens[end - 1].end
        if any(start < b and a < stop for a, b in self.source.preprocessor):
            return
        self.faults.append(Fault(kind, start, stop, self.source.line_of(self.tokens[begin].start), detail, code))

    def _original(self, begin, end):
        return self.source.text[self.tokens[begin].start:self.tokens[end - 1].end]

    def _choice(self, kind, begin, end, at, replacement, name=None):
        """Tokens [begin, end) with the token at `at` replaced, or as they are."""
        words = f"{self.source.words(begin, at)} {replacement} {self.source.words(at + 1, end)}"
        detail = f"{self.tokens[at].text} -> {replacement}" if name is None else name
        self._add(kind, begin, end, detail, f"(ft_fault(@N@) ? ({words}) : ({self._original(begin, end)}))")
        if self.faults:  # it is where its operator stands
            self.faults[-1].line = self.source.line_of(self.tokens[at].start)

    _OF_COMPARISON = _LOOSE | {"&&", "||"} | {f" {op} " for op in (*_COMPARISONS, "&", "|", "^")}
    _OF_SUM = _OF_COMPARISON | {"<<", ">>"}
    _OF_BOOLEAN = _LOOSE

    def _operator(self, i):
        text = self.tokens[i].text
        if text in _COMPARISONS:
            begin, end = self._span(i, self._OF_COMPARISON)
            if begin == i or end == i + 1:
                return
            self._choice("comparison", begin, end, i, _COMPARISONS[text])
            if text in _BORDERS:
                self._choice("border", begin, end, i, _BORDERS[text])
        elif text in ("&&", "||"):
            begin, end = self._span(i, self._OF_BOOLEAN)
            if begin < i and end > i + 1:
                self._choice("boolean", begin, end, i, {"&&": "||", "||": "&&"}[text])
        elif text in "+-*/":
            begin, end = self._span(i, self._OF_SUM)
            if begin < i and end > i + 1 and not self._holds_text(begin, end):
                self._choice("arithmetic", begin, end, i, {"+": "-", "-": "+", "*": "/", "/": "*"}[text])

    def _holds_text(self, begin, end):
        return any(token.kind in ("string", "raw", "char") for token in self.tokens[begin:end])

    def _constant(self, i):
        text = self.tokens[i].text
        of_template = self.source.is_at(i - 1, "<") and not self.source.is_spaced(i - 1)
        of_template = of_template or (self.source.is_at(i + 1, ">") and not self.source.is_spaced(i + 1))
        of_array = self.source.is_at(i - 1, "[") and self.source.is_at(i + 1, "]") and i > 2 and (
            self.tokens[i - 3].kind == "name" and self.tokens[i - 3].text not in _LEAVES)
        if of_template or of_array:
            return
        for value in values_instead(text):
            self._choice("constant", i, i + 1, i, value)

    def _condition(self, i):
        """`if (..)` and `while (..)`: what follows an initialization, if there is one."""
        begin, end = i + 2, self.source.match[i + 1]
        declares = False
        at = begin
        while at < end:
            if self.tokens[at].text == ";":
                begin, declares = at + 1, False
            declares = declares or self.tokens[at].text == "="
            at = self.source.match[at] + 1 if at in self.source.match else at + 1
        if declares or begin >= end:
            return
        original = self._original(begin, end)
        words = self.source.words(begin, end)
        if not any(token.text in ("&&", "||", *_COMPARISONS) for token in self.tokens[begin:end]):
            self._add("negated", begin, end, words, f"ft_fault(@N@) != static_cast<bool>({original})")
        body = end + 2 if self.source.is_at(end + 1, "{") else end + 1
        if self.tokens[i].text == "if" and self.tokens[body].text in _LEAVES:
            self._add("early_return", begin, end, words, f"!ft_fault(@N@) && static_cast<bool>({original})")

    def _chosen(self, i):
        begin, _ = self._span(i, self._OF_BOOLEAN)
        if begin < i and not any(token.text in _COMPARISONS for token in self.tokens[begin:i]):
            self._add("negated", begin, i, self.source.words(begin, i),
                      f"(ft_fault(@N@) != static_cast<bool>({self._original(begin, i)}))")

    def _call(self, i):
        """min and max; two arguments exchanged that are no literals."""
        begin = self._callee(i)
        if begin is None:
            return
        name = self.tokens[i - 1].text
        end = self.source.match[i] + 1
        arguments = self._arguments(i)
        if name in ("min", "max") and self.source.is_at(i - 2, "::"):
            return self._choice("extreme", begin, end, i - 1, {"min": "max", "max": "min"}[name])
        if name in ("swap", "exchange", "clamp", "forward", "log_with") or name in _HINTS:
            return
        for (a, b), (c, d) in zip(arguments, arguments[1:]):
            first, second = self.source.words(a, b), self.source.words(c, d)
            if first != second and self._is_plain(a, b) and self._is_plain(c, d):
                words = (f"{self.source.words(begin, a)} {second} , {first} {self.source.words(d, end)}")
                self._add("swapped", begin, end, f"{name}({first}, {second})",
                          f"(ft_fault(@N@) ? ({words}) : ({self._original(begin, end)}))")

    def _is_plain(self, begin, end):
        """A name or a member of one: no literal, no call, no lambda."""
        return begin < end and all(token.kind == "name" or token.text in (".", "->", "::", "*")
                                   for token in self.tokens[begin:end]) and self.tokens[begin].text not in _DECLARES

    def _callee(self, i):
        """Where what is called by the bracket at i begins; None when this is no call."""
        at = i - 1
        if at < 0 or self.tokens[at].kind != "name" or self.tokens[at].text in _DECLARES:
            return None
        while at > 0 and self.source.is_at(at - 1, ".", "->", "::"):
            at -= 2
            while at >= 0 and self.source.is_at(at, ")", "]"):
                at = self.source.match[at] - 1
            if at < 0 or self.tokens[at].kind != "name":
                return None
        before = self.tokens[at - 1] if at > 0 else None
        if before is None or before.text in (">", "&", "*", "&&", "~", "new") and not self.source.is_spaced(at - 1):
            return None
        if before.kind == "name" and before.text not in ("return", "throw", "else", "do", "co_return"):
            return None
        if before.text in (":", ",") and self.source.scope[i] != "function":
            return None
        return at

    def _arguments(self, i):
        spans = []
        begin = at = i + 1
        end = self.source.match[i]
        while at < end:
            if self.tokens[at].text == ",":
                spans.append((begin, at))
                begin = at + 1
            at = self.source.match[at] + 1 if at in self.source.match else at + 1
        return spans + [(begin, end)]

    # Statements.

    def _statement(self, i):
        if not self._begins_statement(i):
            return
        end = self._end_of_statement(i)
        if end is None or any(token.text.startswith("log_") or token.text in _HINTS for token in self.tokens[i:end]):
            return
        original, words = self._original(i, end + 1), self.source.words(i, end)
        if self.tokens[i].text in ("break", "continue") and end == i + 1:
            if not self._ends_guard(i):
                self._delete(i, end, words, original)
        elif self._is_expression(i, end):
            self._delete(i, end, words, original)
            self._other_step(i, end, original)

    def _delete(self, i, end, words, original):
        self._add("deleted", i, end + 1, words[:160], f"{{ if (!ft_fault(@N@)) {{ {original} }} }}")

    def _other_step(self, i, end, original):
        """++ and --, += and -= as statements."""
        others = {"+=": "-=", "-=": "+=", "++": "--", "--": "++"}
        at = next((k for k in range(i, end) if self.tokens[k].text in others), None)
        if at is None or self._holds_text(i, end) or self.source.around[at] != self.source.around[i]:
            return
        words = f"{self.source.words(i, at)} {others[self.tokens[at].text]} {self.source.words(at + 1, end)}"
        self._add("arithmetic", i, end + 1, f"{self.tokens[at].text} -> {others[self.tokens[at].text]}",
                  f"{{ if (ft_fault(@N@)) {{ {words}; }} else {{ {original} }} }}")

    def _ends_guard(self, i):
        """`if (..) break;`: the fault early_return is the same."""
        if self.source.is_at(i - 1, ")"):
            return self.source.is_at(self.source.match[i - 1] - 1, "if")
        around = self.source.around[i]
        if around != i - 1 or not self.source.is_at(around - 1, ")"):
            return False
        return self.source.is_at(self.source.match[around - 1] - 1, "if")

    def _begins_statement(self, i):
        if i == 0 or self.source.around[i] < 0 or not self.source.is_at(self.source.around[i], "{"):
            return False
        if self.source.braces[self.source.around[i]] != "function":
            return False
        before = self.tokens[i - 1].text
        if before in (";", "else", "do"):
            return True
        if before in ("{", "}"):
            opened = i - 1 if before == "{" else self.source.match[i - 1]
            return self.source.braces[opened] == "function" and not self._is_inside(opened)
        if before == ":":
            return self.tokens[self.source.statement_start(i)].text in ("case", "default")
        return before == ")" and self.source.is_at(self.source.match[i - 1] - 1, "if", "for", "while", "constexpr")

    def _end_of_statement(self, i):
        while i < len(self.tokens):
            if self.tokens[i].text == ";":
                return i
            if self.tokens[i].text == "}":
                return None
            i = self.source.match[i] + 1 if i in self.source.match else i + 1
        return None

    def _is_expression(self, i, end):
        """A call, an assignment, a step: no declaration."""
        first = self.tokens[i]
        if first.text in ("++", "--", "*"):
            return True
        if first.kind != "name" or first.text in _DECLARES:
            return False
        at = i
        while at + 2 < end and self.source.is_at(at + 1, "::"):
            at += 2
        after = self.tokens[at + 1].text
        if after == "<":  # f<T>(..), or a declaration: only the name before the bracket tells
            return not self.source.is_spaced(at + 1) and self.source.is_at(end - 1, ")") and self._calls_template(at + 1)
        return after in (".", "->", "(", "[", "++", "--") or after in _ASSIGNMENTS

    def _calls_template(self, i):
        depth = 0
        while i < len(self.tokens):
            depth += {"<": 1, ">": -1, ">>": -2}.get(self.tokens[i].text, 0)
            if depth <= 0:
                return self.source.is_at(i + 1, "(")
            i += 1
        return False

    # Constants with a name.

    def _named_constants(self):
        """`constexpr T kName = <one number>;` of a source: const instead of constexpr, so that it can be changed."""
        for i, token in enumerate(self.tokens):
            if token.text != "constexpr" or self.source.scope[i] not in ("namespace", "function"):
                continue
            if self.source.statement_start(i) != i:
                continue
            end = self._end_of_statement(i)
            if end is None or end - i > 14 or self.source.is_at(i + 1, "auto"):
                continue
            equal = next((k for k in range(i, end) if self.tokens[k].text == "="), None)
            if equal is None or any(token.text in "({[" for token in self.tokens[i:end]):
                continue
            numbers = [k for k in range(equal + 1, end) if self.tokens[k].kind == "number"]
            for k in numbers[:1]:
                head = self.source.words(i + 1, equal)
                rest = self._original(equal + 1, end)
                for value in values_instead(self.tokens[k].text):
                    wrong = f"{self.source.words(equal + 1, k)} {value} {self.source.words(k + 1, end)}"
                    self._add("constant", i, end + 1, f"{self.tokens[k].text} -> {value}",
                              f"const {head} = ft_fault(@N@) ? ({wrong}) : ({rest});")


def values_instead(text):
    """What a literal may be instead."""
    if text in ("true", "false"):
        return ["false" if text == "true" else "true"]
    whole = _INTEGER.match(text)
    if whole and not (len(text) > 1 and text[0] == "0" and text[1].isdigit()):
        value, suffix = int(whole[1].replace("'", "")), whole[2]
        return [f"{value + 1}{suffix}"] + ([f"{value - 1}{suffix}"] if value > 0 else [])
    fraction = _FRACTION.match(text)
    if fraction:
        value = float(fraction[1].replace("'", ""))
        return [f"{repr(2 * value) if value else '1.0'}{fraction[2]}"]
    return []
