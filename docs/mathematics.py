"""Turn equations into MathML, which browsers lay out themselves: no script, no font, no request.

The page of science prints its equations as text, which tests evaluate: `c(x) = 1/2 (k prod_j a_j(x) / rho(x))^(1/n)`.
What is a sum, an index or a Greek letter there becomes one here; words stay words.
"""

import html
import re
from typing import Final

from latex2mathml.converter import convert

_SYMBOLS: Final = (
    "alpha", "beta", "gamma", "delta", "zeta", "kappa", "lambda", "mu", "omega", "rho", "sigma", "tau", "chi", "Delta",
    "Phi", "Psi", "pi", "sum", "prod", "max", "min", "exp", "log",
)  # fmt: skip
_NAMES: Final = {name: f"\\{name} " for name in _SYMBOLS} | {
    "eps": r"\varepsilon ",
    "abar": r"\bar{a}",
    "dC": "d C",
    "dx": "d x",
}
_SIGNS: Final = {
    "<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "..": r"\ldots ", "#": r"\#", "*": r"\cdot ", "{": r"\{", "}": r"\}",
    "%": r"\%", "&": r"\&",
}  # fmt: skip
_TOKEN: Final = re.compile(
    r"(?P<gap> {2,})|(?P<script>[_^])(?P<index>[A-Za-z]+|\d+)?|(?P<star>(?<=[a-z])\*(?=[,)|_]))|"
    r"(?P<word>[a-z]-(?=[ )])|[A-Za-z]+)"
    r"|(?P<sign><=|>=|!=|\.\.|[#*{}%&])|(?P<other>.)",
    re.DOTALL,
)
_CLOSING: Final = {"(": ")", "{": "}"}


def rendered(latex: str, *, block: bool) -> str:
    """Return a formula of LaTeX as MathML, with what it says in words of LaTeX for those that read by ear."""
    mathml = convert(latex, display="block" if block else "inline")
    formula = mathml.replace("<math ", f'<math alttext="{html.escape(" ".join(latex.split()))}" ', 1)
    return f'<div class="formula" tabindex="0">{formula}</div>' if block else formula


def displayed(block: str) -> str:
    """Return a block of equations as Markdown that shows each of its lines as a formula."""
    lines = (line.strip() for line in block.splitlines())
    return "\n".join(f"$$\n{as_latex(line)}\n$$\n" for line in lines if line)


def as_latex(text: str) -> str:
    """Return arithmetic that is printed as text, in LaTeX."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if (token := _TOKEN.match(text, at)) is None:  # pragma: no cover - its last alternative takes any character
            break
        at = token.end()
        if token["script"] and not token["index"]:
            inner, at = _enclosed(text, at)
            out.append(f"{token['script']}{{{as_latex(inner)}}}")
        elif token["word"] == "sqrt" and text[at : at + 1] == "(":
            inner, at = _enclosed(text, at)
            out.append(f"\\sqrt{{{as_latex(inner)}}}")
        else:
            out.append(_written(token))
    return "".join(out)


def _written(token: re.Match[str]) -> str:
    """Return a token that has nothing inside."""
    if token["gap"]:
        return r"\quad "
    if token["script"]:
        return f"{token['script']}{{{_word(token['index'], 2)}}}"
    if token["star"]:
        return "^{*}"
    if token["word"]:
        return _word(token["word"], 1)
    return _SIGNS.get(token["sign"] or "", token["other"] or "")


def _word(word: str, letters: int) -> str:
    """Return a symbol, or a word in upright letters if it has more than so many."""
    return _NAMES.get(word) or (word if len(word) <= letters or word.isdigit() else f"\\text{{ {word} }}")


def _enclosed(text: str, start: int) -> tuple[str, int]:
    """Return what the bracket that opens here has inside, and where what follows begins."""
    opening = text[start : start + 1]
    if opening not in _CLOSING:
        return text[start : start + 1], start + 1
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == _CLOSING[opening])
        if not depth:
            return text[start + 1 : at], at + 1
    return text[start + 1 :], len(text)
