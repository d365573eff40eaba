"""Decides whether a policy that an authorizer returned allows a request."""

import re

ALLOWED, DENIED, SILENT = "allowed", "denied", "silent"

_ACTION = "execute-api:Invoke"


class Malformed(Exception):
    """The gateway could not use the policy."""


def decide(document: dict, arn: str) -> str:
    """Returns ALLOWED, DENIED by a statement, or SILENT, which denies too. An explicit denial overrides an allowance.

    Raises Malformed for a malformed policy, and for conditions, which the emulator does not evaluate.
    """
    try:
        effects = {_effect(s) for s in _list(document["Statement"]) if _applies(s, arn)}
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(str(error)) from error
    if "Deny" in effects:
        return DENIED
    return ALLOWED if effects else SILENT


def _effect(statement: dict) -> str:
    if statement["Effect"] not in ("Allow", "Deny") or "Condition" in statement:
        raise Malformed(f"statement {statement}")
    return statement["Effect"]


def _applies(statement: dict, arn: str) -> bool:
    actions = any(_matches(pattern.lower(), _ACTION.lower()) for pattern in _list(statement["Action"]))
    return actions and any(_matches(pattern, arn) for pattern in _list(statement["Resource"]))


def _matches(pattern: str, text: str) -> bool:
    """Matches as IAM does: * matches any text with slashes, ? any character, and the rest matches literally."""
    return re.fullmatch("".join(_WILD.get(c) or re.escape(c) for c in pattern), text, re.DOTALL) is not None


_WILD = {"*": ".*", "?": "."}


def _list(value):
    return value if isinstance(value, list) else [value]
