"""The request path that an integration receives. LocalStack serves every API below a path of its own and drops that prefix
from the path that it passes on, so that references in an answer would lead to another address.
"""

from urllib.parse import urlsplit

from localstack.services.apigateway.next_gen.execute_api.handlers.parse import InvocationRequestParser


def patch() -> None:
    describe = InvocationRequestParser.create_context_variables

    def described(context):
        variables = describe(context)
        variables["path"] = _written(context.request) or variables["path"]
        return variables

    InvocationRequestParser.create_context_variables = staticmethod(described)


def _written(request) -> str:
    """Returns the path as the client sent it. A proxy's client sends a whole address, of which it returns the path."""
    target = request.environ.get("RAW_URI") or ""
    return target.partition("?")[0] if target.startswith("/") else urlsplit(target).path
