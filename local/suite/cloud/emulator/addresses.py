"""Passes the whole request path to an integration. LocalStack serves every API below a prefix and drops the prefix from the
path that it passes on. References in an answer would then lead to another address.
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
    """Returns the path as the client sent it. If the client sent a whole URL, as to a proxy, returns the path of the URL."""
    target = request.environ.get("RAW_URI") or ""
    return target.partition("?")[0] if target.startswith("/") else urlsplit(target).path
