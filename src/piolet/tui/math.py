"""Inline TeX as Unicode, as far as one line of characters can say it."""

from __future__ import annotations

import re

_SUPERSCRIPT = dict(
    zip("0123456789+-=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True)
) | {"T": "ᵀ", "N": "ᴺ", "∗": "*", "'": "′"}
_SUBSCRIPT = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
_SYMBOL_TABLE = """
alpha=α beta=β gamma=γ delta=δ epsilon=ε varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ nu=ν
xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=φ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π
Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω times=× cdot=· div=÷ pm=± mp=∓ le=≤ leq=≤ ge=≥ geq=≥ ne=≠ neq=≠ approx=≈ equiv=≡
sim=∼ propto=∝ infty=∞ sum=∑ prod=∏ int=∫ partial=∂ nabla=∇ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇
cup=∪ cap=∩ emptyset=∅ varnothing=∅ forall=∀ exists=∃ neg=¬ lnot=¬ land=∧ wedge=∧ lor=∨ vee=∨ to=→ rightarrow=→
leftarrow=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ implies=⇒ iff=⇔ Leftrightarrow=⇔ mapsto=↦ uparrow=↑ downarrow=↓
ldots=… dots=… cdots=⋯ circ=∘ bullet=• star=⋆ ast=∗ oplus=⊕ otimes=⊗ perp=⊥ parallel=∥ angle=∠ degree=° prime=′ ell=ℓ
hbar=ℏ Re=ℜ Im=ℑ aleph=ℵ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ ll=≪ gg=≫ setminus=∖ mid=∣ vert=| log=log
ln=ln exp=exp sin=sin cos=cos tan=tan lim=lim max=max min=min det=det gcd=gcd bmod=mod
"""
_SYMBOLS = dict(pair.split("=", 1) for pair in _SYMBOL_TABLE.split())
_BOARD = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ", "P": "ℙ"}
_GLUE = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "{": "{", "}": "}", "%": "%", "$": "$", "_": "_", "&": "&"}
_token = re.compile(r"\\([A-Za-z]+|.)|([{}^_])|([^\\{}^_]+)", re.DOTALL)


class _Unwritable(Exception):
    """Something that has no form on one line."""


def to_unicode(tex: str) -> str | None:
    """Return TeX (without its delimiters) in Unicode characters; None if it holds what has no such form."""
    tokens = [match[0] for match in _token.finditer(tex)]
    try:
        text, rest = _group(tokens, 0, closing=False)
    except (_Unwritable, RecursionError):
        return None
    return " ".join(text.split()) if rest == len(tokens) else None


def _group(tokens: list[str], at: int, *, closing: bool) -> tuple[str, int]:
    parts: list[str] = []
    while at < len(tokens):
        token = tokens[at]
        if token == "}":
            if closing:
                return "".join(parts), at + 1
            raise _Unwritable
        if token in "^_":
            value, at = _argument(tokens, at + 1)
            parts.append(_shift(value, _SUPERSCRIPT if token == "^" else _SUBSCRIPT))
        else:
            value, at = _atom(tokens, at)
            parts.append(value)
    if closing:
        raise _Unwritable
    return "".join(parts), at


def _atom(tokens: list[str], at: int) -> tuple[str, int]:
    token = tokens[at]
    if token == "{":
        return _group(tokens, at + 1, closing=True)
    if not token.startswith("\\"):
        return token, at + 1
    name = token[1:]
    if name in _SYMBOLS:
        return _SYMBOLS[name], at + 1
    if name in _GLUE:
        return _GLUE[name], at + 1
    if name in ("quad", "qquad"):
        return "  ", at + 1
    if name in ("left", "right", "displaystyle"):
        return "", at + 1
    if name in ("text", "mathrm", "mathbf", "mathit", "mathsf", "operatorname"):
        return _argument(tokens, at + 1)
    if name == "mathbb":
        value, at = _argument(tokens, at + 1)
        return "".join(_BOARD.get(char, char) for char in value), at
    if name == "sqrt":
        value, at = _argument(tokens, at + 1)
        return f"√{value}" if len(value) == 1 else f"√({value})", at
    if name in ("frac", "dfrac", "tfrac"):
        above, at = _argument(tokens, at + 1)
        below, at = _argument(tokens, at)
        return f"{_operand(above)}/{_operand(below)}", at
    raise _Unwritable


def _argument(tokens: list[str], at: int) -> tuple[str, int]:
    """Return what follows as an argument: a group, a command, or one character."""
    if at >= len(tokens) or tokens[at] in "}^_":
        raise _Unwritable
    token = tokens[at].lstrip()
    if token and token[0] not in "\\{":
        if len(token) > 1:  # the rest of the run stays for the next reader
            tokens[at] = token[1:]
            return token[0], at
        return token, at + 1
    return _atom(tokens, at if token else at + 1) if token or at + 1 < len(tokens) else ("", at + 1)


def _operand(text: str) -> str:
    return text if len(text) == 1 or text.isalnum() else f"({text})"


def _shift(text: str, table: dict[str, str]) -> str:
    if all(char in table for char in text):
        return "".join(table[char] for char in text)
    mark = "^" if table is _SUPERSCRIPT else "_"
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"
