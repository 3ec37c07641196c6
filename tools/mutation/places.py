"""What the makers of faults share: the places of a Source that may hold none, the operands around an operator, and
how a Fault is written down.
"""
import dataclasses

ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
LOOSE = {",", ";", "?", ":", "return", "co_return", "throw", "case", "else", "do", "co_yield"} | ASSIGNMENTS
LEAVES = {"return", "continue", "break", "throw"}
# What nobody could notice if it were missing.
HINTS = {"reserve", "shrink_to_fit", "assert", "static_assert", "prefetch", "__builtin_prefetch", "CHECK"}
DECLARES = {"const", "auto", "static", "constexpr", "using", "typedef", "struct", "class", "enum", "union", "template",
            "return", "if", "for", "while", "switch", "case", "default", "else", "do", "goto", "break", "continue",
            "throw", "public", "private", "protected", "friend", "mutable", "thread_local", "unsigned", "int", "bool",
            "float", "double", "char", "void", "delete", "new", "co_return", "co_await", "co_yield", "try", "catch",
            "asm", "extern", "inline", "virtual", "explicit", "operator", "namespace", "static_assert", "volatile"}


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


class Places:
    """One Source and the faults found in it so far."""

    def __init__(self, source):
        self.source = source
        self.tokens = source.tokens
        self.faults = []
        self.forbidden = [False] * len(self.tokens)
        self._forbid()

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

    def _holds_text(self, begin, end):
        return any(token.kind in ("string", "raw", "char") for token in self.tokens[begin:end])
