"""Templates and parameters of gateway responses."""

import json
import re

_VARIABLE = re.compile(r"\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)")


def body(template: str, context: dict) -> str:
    """Returns the template with each $context.… filled in; unknown variables are empty."""
    return _VARIABLE.sub(lambda match: look_up(match.group(1), context), template)


def headers(parameters: dict[str, str], context: dict) -> dict[str, str]:
    """Returns the headers of gatewayresponse.header.NAME parameters: 'literal' text, or a context variable."""
    found = {}
    for parameter, value in parameters.items():
        name = parameter.removeprefix("gatewayresponse.header.")
        if value.startswith("'") and value.endswith("'"):
            found[name] = value[1:-1]
        elif value.startswith("context."):
            found[name] = look_up(value.removeprefix("context."), context)
    return found


def look_up(path: str, context: dict) -> str:
    """Returns the variable at a path such as error.message; error.messageString is the same in quotes."""
    if path == "error.messageString":
        return json.dumps(look_up("error.message", context))
    value = context
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return "" if value is None else str(value)
