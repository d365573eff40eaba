"""Evaluates the conditions of a policy's statement.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

import re


class Malformed(Exception):
    """A policy is malformed, or uses what the emulator cannot evaluate."""


def holds(conditions: dict, keys: dict[str, list[str]]) -> bool:
    """Reports whether all conditions hold for a request.

    keys maps the lower-case names of condition keys to the request's values. An empty list means that the request has no
    such key. Raises Malformed for a key that is not in keys: the emulator does not know whether AWS would set it.
    """
    return all([  # a list, so that each condition is checked for what the emulator cannot evaluate
        _holds(operator, _values(keys, name), _list(expected))
        for operator, named in conditions.items() for name, expected in named.items()
    ])


def _values(keys: dict[str, list[str]], name: str) -> list[str]:
    try:
        return keys[name.lower()]
    except KeyError:
        raise Malformed(f"condition key {name}") from None


def _holds(operator: str, values: list[str], expected: list) -> bool:
    expected = [str(e).lower() if isinstance(e, bool) else str(e) for e in expected]
    if any("${" in e for e in expected):
        raise Malformed(f"a variable in {expected}")
    if operator == "Null":
        return any(_flag(e) == (not values) for e in expected)
    quantifier, _, rest = operator.rpartition(":")
    name = rest.removesuffix("IfExists")
    if name not in _OPERATORS or quantifier not in ("", "ForAllValues", "ForAnyValue"):
        raise Malformed(f"operator {operator}")
    same, negated = _OPERATORS[name]
    fits = [any(same(e, v) for e in expected) != negated for v in values]
    if quantifier == "ForAllValues":
        return all(fits)  # also without values
    if quantifier == "" and len(values) > 1:
        raise Malformed(f"operator {operator} on {len(values)} values")
    if not values:
        return rest != name or negated and quantifier == ""
    return any(fits)


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise Malformed(f"{text!r}, want true or false")
    return text.lower() == "true"


def matches(pattern: str, text: str) -> bool:
    """Matches as IAM does: * matches any text with slashes, ? any character, and the rest matches literally."""
    return re.fullmatch("".join(_WILD.get(c) or re.escape(c) for c in pattern), text, re.DOTALL) is not None


_WILD = {"*": ".*", "?": "."}


def _equal(expected: str, value: str) -> bool:
    return expected == value


def _alike(expected: str, value: str) -> bool:
    return expected.lower() == value.lower()


# Each operator's comparison, and whether the operator negates it.
_OPERATORS = {
    "StringEquals": (_equal, False), "StringNotEquals": (_equal, True),
    "StringEqualsIgnoreCase": (_alike, False), "StringNotEqualsIgnoreCase": (_alike, True),
    "StringLike": (matches, False), "StringNotLike": (matches, True),
    "ArnEquals": (matches, False), "ArnNotEquals": (matches, True),
    "ArnLike": (matches, False), "ArnNotLike": (matches, True),
    "Bool": (_alike, False),
}


def _list(value):
    return value if isinstance(value, list) else [value]
