"""Arithmetic as the page of science prints it: which equations stand there, and what they come to for given numbers."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from scipy.special import binom, ndtr

Names = Mapping[str, Any]

_BLOCK: Final = re.compile(r"^```text\n(.+?)^```$", re.MULTILINE | re.DOTALL)
_NOTE: Final = re.compile(r"\s{2,}\((?:TC|AG|printed|the larger|= )[^)]*\)$", re.MULTILINE)
_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"`([^`]+)`")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_ADDRESS: Final = re.compile(r"(?<=\])\([^)]*\)|\[?\b\w+\.org/[^\s\]]*")
_OPERATION: Final = re.compile(r"\^|/| (?:[-+]|<=|>=) ")
_OTHER: Final = re.compile(r"--|[:;$&\\]|^\w+ [-+] \d+$|^[\w<>= ]+ \d+$")
_NUMBER: Final = re.compile(r"(?<![\w.])\d")
_SIDES: Final = re.compile(r" (?:=|<=|>=) ")
#: Of what is a value the argument names where, it leaves out: `c(x)` is c.
_ARGUMENT: Final = re.compile(r"(?<=\w)\((?:x|p|t|a|sigma|S)\)")
_TOKEN: Final = re.compile(r"\s*(\d+(?:\.\d+)?|#?[A-Za-z]\w*(?:\{[^}]*\})?|[-+*/^(),|>])")
_REDUCED: Final = re.compile(r"(sum|prod|mean|(?:max|min)(?=_))(?:_(.+))?$")
_REDUCERS: Final[dict[str, Callable[..., Any]]] = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "max": np.max, "min": np.min,
}  # fmt: skip
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "ln": np.log,
    "log2": np.log2,
    "binomial": binom,
    "ceil": np.ceil,
    "floor": np.floor,
    "max": np.maximum,
    "min": np.minimum,
    "upper_tail": lambda t: ndtr(-t),
    "choose": np.where,
}


def equations(page: str) -> list[str]:
    """Every equation of the blocks of a page, without the notes behind them."""
    out = []
    for block in _BLOCK.findall(page):
        text = re.sub(r"\n\s+\+ ", " + ", _NOTE.sub("", block))
        text = re.sub(r"sum over (\w+)(?: columns| ones)?\s+", r"sum_\1 ", text)
        for line in re.sub(r" +(=|<=|>=) ", r" \1 ", text).splitlines():
            out += [piece for piece in re.split(r",?\s{2,}", line.strip()) if piece]
    return out


def inline(page: str) -> list[str]:
    """Numbered arithmetic between the words of a page: with a power, a quotient, a sum, a difference or an inequality.

    A number of records such as `k - 1` is none, nor is what a shell reads.
    """
    spans = (" ".join(span.split()) for span in _SPAN.findall(_FENCED.sub("", page)))
    return [span for span in spans if numbered(span) and _OPERATION.search(span) and not _OTHER.search(span)]


def without_code(page: str) -> str:
    """The words of a page: no code, no comments, no addresses."""
    return _ADDRESS.sub("", _SPAN.sub("", _COMMENT.sub("", _FENCED.sub("", page))))


def numbered(equation: str) -> bool:
    """Return whether a number is printed in it, but for those of indices."""
    return _NUMBER.search(re.sub(r"\{[^}]*\}", "", equation)) is not None


def key(equation: str) -> str:
    """The left side with its relation; all of it where there is none."""
    relation = _SIDES.search(equation)
    return equation if relation is None or "P(M" in equation[: relation.start()] else equation[: relation.end() - 1]


def sides(equation: str, names: Names) -> list[Any]:
    """Values of the sides of an equation, from left to right."""
    return [value(side, names) for side in _SIDES.split(equation.replace("P(M >= ", "upper_tail("))]


def relations(equation: str) -> list[str]:
    """The signs between the sides."""
    return [each.strip() for each in _SIDES.findall(equation.replace("P(M >= ", "upper_tail("))]


def value(expression: str, names: Names) -> Any:
    """Expression of names and numbers: factors that follow each other are multiplied, sums go over the last axis."""
    text = _ARGUMENT.sub("", expression.replace("[", "(").replace("]", ")"))
    text = re.sub(r"(\w+) where the categories differ, else (\w+)", r"choose(differ, \1, \2)", text)
    text = re.sub(r"^(.+) where (.+), else (.+)$", r"choose(\2, \1, \3)", text)
    return _Expression(text, names).whole()


class _Expression:
    """One expression, read from left to right."""

    def __init__(self, text: str, names: Names) -> None:
        self.tokens = list(_tokens(text))
        self.names = names
        self.places = slice(None)
        self.in_bars = False

    def whole(self) -> Any:
        out = self.compared()
        assert not self.tokens, f"not read: {self.tokens}"
        return out

    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, token: str) -> None:
        assert self.next() == token, f"{token} expected before {self.tokens}"
        self.tokens.pop(0)

    def compared(self) -> Any:
        left = self.added()
        if self.next() != ">":
            return left
        self.take(">")
        return left > self.added()

    def added(self) -> Any:
        if self.next() == "-":
            self.take("-")
            out = -self.multiplied()
        else:
            out = self.multiplied()
        while self.next() in ("+", "-"):
            out = out + self.multiplied() if self.tokens.pop(0) == "+" else out - self.multiplied()
        return out

    def multiplied(self) -> Any:
        out = self.followed()
        while self.next() in ("*", "/"):
            if self.tokens.pop(0) == "*":
                out = out * self.followed()
            else:
                out = out / self.power()
                out = out * self.followed() if self.starts() else out
        return out

    def followed(self) -> Any:
        """Factors with nothing but a space between them."""
        out = self.power()
        while self.starts():
            out = out * self.power()
        return out

    def starts(self) -> bool:
        following = self.next()
        return bool(following) and following not in "+-*/^),>" and not (following == "|" and self.in_bars)

    def power(self) -> Any:
        base = self.single()
        if self.next() != "^":
            return base
        self.take("^")
        return base ** self.single()

    def single(self) -> Any:
        token = self.tokens.pop(0)
        if token == "(":
            bars, self.in_bars = self.in_bars, False
            out = self.compared()
            self.in_bars = bars
            self.take(")")
            return out
        if token == "|":
            self.in_bars = True
            out = abs(self.added())
            self.in_bars = False
            self.take("|")
            return out
        if token[0].isdigit():
            return float(token)
        reduced = _REDUCED.match(token)
        if reduced and token not in self.names:
            return self.reduced(*reduced.groups())
        return self.called(token) if token in _FUNCTIONS else self.named(token)

    def reduced(self, how: str, over: str | None) -> Any:
        t = self.names.get("t", 0)
        self.places = {"{i>t}": slice(t, None), "{i<=t}": slice(0, t)}.get(over or "", slice(None))
        operand = self.followed()
        self.places = slice(None)
        return _REDUCERS[how](operand, axis=-1)

    def called(self, function: str) -> Any:
        self.take("(")
        arguments = [self.compared()]
        while self.next() == ",":
            self.take(",")
            arguments.append(self.compared())
        self.take(")")
        return _FUNCTIONS[function](*arguments)

    def named(self, name: str) -> Any:
        out = self.names[name]
        return out[self.places] if self.places != slice(None) and np.ndim(out) == 1 else out


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text.rstrip()):
        token = _TOKEN.match(text, at)
        assert token, f"not arithmetic: {text[at:]}"
        yield token[1]
        at = token.end()
