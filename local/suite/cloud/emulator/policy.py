"""Evaluates policies as IAM does. A request is denied unless a policy allows it, and an explicit denial overrides.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

import re
from dataclasses import dataclass, field

from emulator import condition

ALLOWED, DENIED, SILENT = "allowed", "denied", "silent"
DELEGATED = "delegated"  # a resource's policy leaves the decision to the policies of the account's roles

Malformed = condition.Malformed


@dataclass(frozen=True)
class Request:
    action: str  # such as dynamodb:PutItem
    resource: str  # an ARN, or * for an action without a resource
    keys: dict[str, list[str]] = field(default_factory=dict)  # condition keys, see condition.holds


def decide(documents: list[dict], request: Request) -> str:
    """Returns ALLOWED, DENIED by a statement, or SILENT, which denies too. The documents name no principals.

    Raises Malformed for a malformed policy, and for a part of one that the emulator cannot evaluate.
    """
    effects = {s["Effect"] for document in documents for s in _statements(document) if _applies(s, request)}
    if "Deny" in effects:
        return DENIED
    return ALLOWED if effects else SILENT


def decide_for(document: dict, role: str, request: Request) -> str:
    """Returns what a resource's policy says about a request of a role: ALLOWED, DENIED, DELEGATED or SILENT."""
    effects = {(s["Effect"], _named(s, role)) for s in _statements(document) if _named(s, role) and _applies(s, request)}
    if any(effect == "Deny" for effect, _ in effects):
        return DENIED
    if ("Allow", ALLOWED) in effects:
        return ALLOWED
    return DELEGATED if effects else SILENT


def _statements(document: dict) -> list[dict]:
    try:
        return _list(document["Statement"])
    except (KeyError, TypeError) as error:
        raise Malformed(f"policy {document}") from error


def _applies(statement: dict, request: Request) -> bool:
    try:
        if statement["Effect"] not in ("Allow", "Deny"):
            raise Malformed(f"statement {statement}")
        action = _among(statement, "Action", request.action.lower(), str.lower)
        resource = _among(statement, "Resource", request.resource, str)
        return action and resource and condition.holds(statement.get("Condition", {}), request.keys)
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"statement {statement}") from error


def _among(statement: dict, element: str, text: str, written) -> bool:
    """Reports whether a pattern of an element such as Action matches, or whether none of NotAction does."""
    inverse = "Not" + element
    patterns = [written(pattern) for pattern in _list(statement[inverse if inverse in statement else element])]
    if any("${" in pattern for pattern in patterns):
        raise Malformed(f"a variable in {statement}")
    return any(condition.matches(pattern, text) for pattern in patterns) != (inverse in statement)


def _named(statement: dict, role: str) -> str:
    """Returns ALLOWED if the statement names the role or everyone, DELEGATED if it names the role's account, else ""."""
    if "Principal" not in statement:
        raise Malformed(f"statement without Principal: {statement}")
    named = statement["Principal"]
    names = _list(named.get("AWS", [])) if isinstance(named, dict) else _list(named)
    account = role.split(":")[4]
    if "*" in names or role in names:
        return ALLOWED
    return DELEGATED if account in names or re.sub(r":role/.*", ":root", role) in names else ""


def _list(value):
    return value if isinstance(value, list) else [value]
