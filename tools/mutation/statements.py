"""Faults in statements: what is left out, steps the other way, and constants with a name."""
from .expressions import values_instead
from .places import ASSIGNMENTS, DECLARES, HINTS, Places


class Statements(Places):
    def _statement(self, i):
        if not self._begins_statement(i):
            return
        end = self._end_of_statement(i)
        if end is None or any(token.text.startswith("log_") or token.text in HINTS for token in self.tokens[i:end]):
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
        if first.kind != "name" or first.text in DECLARES:
            return False
        at = i
        while at + 2 < end and self.source.is_at(at + 1, "::"):
            at += 2
        after = self.tokens[at + 1].text
        if after == "<":  # f<T>(..), or a declaration: only the name before the bracket tells
            return not self.source.is_spaced(at + 1) and self.source.is_at(end - 1, ")") and self._calls_template(at + 1)
        return after in (".", "->", "(", "[", "++", "--") or after in ASSIGNMENTS

    def _calls_template(self, i):
        depth = 0
        while i < len(self.tokens):
            depth += {"<": 1, ">": -1, ">>": -2}.get(self.tokens[i].text, 0)
            if depth <= 0:
                return self.source.is_at(i + 1, "(")
            i += 1
        return False

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
                              f"const {head} = ft_fault_in_constant(@N@) ? ({wrong}) : ({rest});")
