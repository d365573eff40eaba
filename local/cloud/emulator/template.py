"""The templates and parameters of gateway responses."""

import json
import re

_VARIABLE = re.compile(r"\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)")


def body(template: str, context: dict) -> str:
    """The template with each $context.… filled in; what is unknown is empty."""
    return _VARIABLE.sub(lambda match: look_up(match.group(1), context), template)


def headers(parameters: dict[str, str], context: dict) -> dict[str, str]:
    """The headers of gatewayresponse.header.NAME parameters: 'literal' text, or a variable of the context."""
    found = {}
    for parameter, value in parameters.items():
        name = parameter.removeprefix("gatewayresponse.header.")
        if value.startswith("'") and value.endswith("'"):
            found[name] = value[1:-1]
        elif value.startswith("context."):
            found[name] = look_up(value.removeprefix("context."), context)
    return found


def look_up(path: str, context: dict) -> str:
    """The variable at a path such as error.message; error.messageString is that one with its quotes."""
    if path == "error.messageString":
        return json.dumps(look_up("error.message", context))
    value = context
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return "" if value is None else str(value)
