"""Addresses of APIs. LocalStack serves every API below a prefix and drops the prefix from the path that it passes on: references in an
answer would then lead to another address. And the name of an API's generated address does not resolve, so a function could not call its
own API.
"""

import re
from urllib.parse import urlsplit

from localstack.services.apigateway.next_gen.execute_api.handlers.parse import InvocationRequestParser
from localstack.services.cloudformation.engine import template_deployer

_GENERATED = re.compile(r"https://(\w+)\.execute-api\.[^/]+(/.*)?")


def patch(endpoint: str) -> None:
    """Passes the whole path of a request to its integration, and gives the stack addresses of its APIs that resolve."""
    describe = InvocationRequestParser.create_context_variables
    resolve = template_deployer.resolve_refs_recursively

    def described(context):
        variables = describe(context)
        variables["path"] = _written(context.request) or variables["path"]
        return variables

    def resolved(*args, **kwargs):
        value = resolve(*args, **kwargs)
        return served(value, endpoint) if isinstance(value, str) else value

    InvocationRequestParser.create_context_variables = staticmethod(described)
    template_deployer.resolve_refs_recursively = resolved


def served(address: str, endpoint: str) -> str:
    """Returns where the emulator serves an API with a generated address. Any other text stays as it is."""
    generated = _GENERATED.fullmatch(address)
    return f"{endpoint}/_aws/execute-api/{generated[1]}{generated[2] or ''}" if generated else address


def _written(request) -> str:
    """Returns the path as the client sent it. If the client sent a whole URL, as to a proxy, returns the path of the URL."""
    target = request.environ.get("RAW_URI") or ""
    return target.partition("?")[0] if target.startswith("/") else urlsplit(target).path
