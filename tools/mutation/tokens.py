"""C++ text as tokens with brackets matched and the scope of every token known, for the generator of faults.

It is no parser: it knows the layout that clang-format gives our sources (a comparison has spaces on both sides, a
template's bracket has not). Comments and preprocessor lines yield no tokens.
"""
import bisect
import dataclasses
import re

_PATTERN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<pre>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=[0-9a-fA-F])|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|.)
""", re.X | re.S | re.M)

_OPEN = {"(": ")", "[": "]", "{": "}"}
_FUNCTION_ENDS = {"const", "noexcept", "override", "final", "mutable", "else", "do", "try"}
_CLASSES = {"class", "struct", "union"}
_BEFORE_CLASS = {"inline", "typedef", "static", "constexpr", "alignas", "friend", "final"}


@dataclasses.dataclass(slots=True)
class Token:
    kind: str  # raw, string, char, number, name, op
    text: str
    start: int  # offsets in the text
    end: int


class Source:
    """Tokens of one file. `match[i]` is the other bracket of bracket i; `scope[i]` is what the nearest brace around
    token i that is no initializer holds: "function", "class", "enum", "namespace"."""

    def __init__(self, text):
        self.text = text
        self.tokens = []
        self.preprocessor = []  # spans
        for found in _PATTERN.finditer(text):
            kind = found.lastgroup if found.lastgroup != "mark" else "raw"
            if kind == "pre":
                self.preprocessor.append(found.span())
            elif kind != "skip":
                self.tokens.append(Token(kind, found.group(), *found.span()))
        self._lines = [i for i, c in enumerate(text) if c == "\n"]
        self.match = {}
        self._match_brackets()
        self.braces = {}  # opening brace: function, class, enum, namespace, init
        self.scope = []
        self.around = []  # the opening bracket of any kind around each token, or -1
        self._find_scopes()

    def line_of(self, offset):
        return bisect.bisect_left(self._lines, offset) + 1

    def is_at(self, i, *texts):
        return 0 <= i < len(self.tokens) and self.tokens[i].text in texts

    def is_spaced(self, i):
        """White space on both sides: how clang-format writes a binary operator."""
        token = self.tokens[i]
        return self.text[token.start - 1].isspace() and self.text[token.end:token.end + 1].isspace()

    def words(self, begin, end):
        """Tokens [begin, end) on one line."""
        return " ".join(token.text for token in self.tokens[begin:end])

    def statement_start(self, i):
        """The first token of what token i belongs to, up to the bracket around it."""
        while i > 0:
            before = self.tokens[i - 1].text
            if before in (";", "{", "(", "["):
                return i
            if before == "}" and self.braces.get(self.match.get(i - 1)) != "init":
                return i
            i = self.match[i - 1] if before in (")", "]", "}") and i - 1 in self.match else i - 1
        return 0

    def _match_brackets(self):
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind != "op":
                continue
            if token.text in _OPEN:
                stack.append(i)
            elif token.text in (")", "]", "}"):
                if not stack or _OPEN[self.tokens[stack[-1]].text] != token.text:
                    raise ValueError(f"line {self.line_of(token.start)}: unmatched {token.text}")
                self.match[i] = stack[-1]
                self.match[stack.pop()] = i

    def _find_scopes(self):
        stack = [(-1, "namespace")]
        scopes = ["namespace"]
        for i, token in enumerate(self.tokens):
            if i in self.match and self.match[i] < i:
                if self.braces.get(self.match[i], "init") != "init":
                    scopes.pop()
                stack.pop()
            self.around.append(stack[-1][0])
            self.scope.append(scopes[-1])
            if i in self.match and self.match[i] > i:
                kind = token.text
                if kind == "{":
                    kind = self.braces[i] = self._kind_of_brace(i)
                    if kind != "init":
                        scopes.append(kind)
                stack.append((i, kind))

    def _is_lambda(self, i):
        """Is the brace at i the body of a lambda? Whatever stands between its captures and i is looked through."""
        at = i - 1
        while at >= 0 and not self.is_at(at, ";", "{", "}", "(", "[", ",", "="):
            if self.is_at(at, ")") and self.is_at(self.match[at] - 1, "]"):
                return True
            if self.is_at(at, "]"):
                return at == i - 1
            at = self.match[at] - 1 if at in self.match else at - 1
        return False

    def _kind_of_brace(self, i):
        begin = self.statement_start(i)
        head = [token.text for token in self.tokens[begin:i]]
        while head and (head[0] in _BEFORE_CLASS or head[0] == "template"):
            head = head[self._after_template(head) if head[0] == "template" else 1:]
        if self.around[i] >= 0 and self.tokens[self.around[i]].text in "([":
            return "function" if self._is_lambda(i) else "init"
        if not head or head[-1] == ":":
            return "function"
        if head[0] in ("namespace", "extern"):
            return "namespace"
        if head[0] == "enum":
            return "enum"
        if head[0] in _CLASSES and "(" not in head:
            return "class"
        if self._is_lambda(i):
            return "function"
        if "=" in head and head[0] not in ("if", "for", "while", "switch") and "operator" not in head:
            return "init"
        if head[-1] == ")" or head[-1] in _FUNCTION_ENDS or (head[-1] == "}" and ":" in head):
            return "init" if head[0] == "return" else "function"
        return "function" if "->" in head and ")" in head and head[0] != "return" else "init"

    @staticmethod
    def _after_template(head):
        depth = 0
        for i, text in enumerate(head):
            depth += {"<": 1, ">": -1, ">>": -2}.get(text, 0)
            if i > 0 and depth <= 0:
                return i + 1
        return len(head)
