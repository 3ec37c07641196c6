"""Faults in expressions: operators, constants, conditions and calls."""
import re

from .places import DECLARES, HINTS, LEAVES, LOOSE, Places

_COMPARISONS = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_BORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_INTEGER = re.compile(r"(\d[\d']*)([uUlLzZ]*)$")
_FRACTION = re.compile(r"(\d[\d']*\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)([fF]?)$")


class Expressions(Places):
    _OF_COMPARISON = LOOSE | {"&&", "||"} | {f" {op} " for op in (*_COMPARISONS, "&", "|", "^")}
    _OF_SUM = _OF_COMPARISON | {"<<", ">>"}
    _OF_BOOLEAN = LOOSE

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

    def _constant(self, i):
        text = self.tokens[i].text
        of_template = self.source.is_at(i - 1, "<") and not self.source.is_spaced(i - 1)
        of_template = of_template or (self.source.is_at(i + 1, ">") and not self.source.is_spaced(i + 1))
        of_array = self.source.is_at(i - 1, "[") and self.source.is_at(i + 1, "]") and i > 2 and (
            self.tokens[i - 3].kind == "name" and self.tokens[i - 3].text not in LEAVES)
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
        if self.tokens[i].text == "if" and self.tokens[body].text in LEAVES:
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
        if name in ("swap", "exchange", "clamp", "forward", "log_with") or name in HINTS:
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
                                   for token in self.tokens[begin:end]) and self.tokens[begin].text not in DECLARES

    def _callee(self, i):
        """Where what is called by the bracket at i begins; None when this is no call."""
        at = i - 1
        if at < 0 or self.tokens[at].kind != "name" or self.tokens[at].text in DECLARES:
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
