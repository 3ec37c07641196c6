"""The generator: every place of a C++ text at which one of the kinds of fault below can be put, as a Fault.

The kinds of fault are made in expressions.py and statements.py. A Fault replaces a span of the text by code that holds the right and the wrong version and asks `ft_fault(N)` at run
time which one to take (fault_switch.h). The wrong version is written on one line, so no line moves.

What is left out, because no test could tell: text for people (log lines, strings), constants of the compiler
(static_assert, constexpr functions, case labels), hints (reserve, shrink_to_fit) and CHECKs of what never happens.
"""
from .expressions import Expressions
from .statements import Statements

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


class Generator(Expressions, Statements):
    """All faults of one Source."""

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
