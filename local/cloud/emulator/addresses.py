"""What an integration is told of the address that was asked. LocalStack serves every API below a path of its own, and
leaves that out of the path that the client is said to have written: what an answer refers to would then lead elsewhere.
"""

from urllib.parse import urlsplit

from localstack.services.apigateway.next_gen.execute_api.handlers.parse import InvocationRequestParser


def mend() -> None:
    describe = InvocationRequestParser.create_context_variables

    def described(context):
        variables = describe(context)
        variables["path"] = _written(context.request) or variables["path"]
        return variables

    InvocationRequestParser.create_context_variables = staticmethod(described)


def _written(request) -> str:
    """The path as the client wrote it; of a target that is a whole address, as a proxy's client writes it, its path."""
    target = request.environ.get("RAW_URI") or ""
    return target.partition("?")[0] if target.startswith("/") else urlsplit(target).path
