"""What API Gateway refuses or warns of when it imports an OpenAPI document. LocalStack imports such documents without a word.
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html#api-gateway-known-issues-rest-apis
"""

import json
import re

RESPONSES = "x-amazon-apigateway-gateway-responses"

_METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "x-amazon-apigateway-any-method"}
_INTEGRATION = "x-amazon-apigateway-integration"
_LARGEST = 6 * 1024 * 1024  # bytes
_RESOURCES = 300  # of an API; each step of a path is one
_PART = re.compile(r"[A-Za-z0-9._~:$-]+|\{[A-Za-z0-9._-]+\+?\}")


def problems(document: dict) -> list[str]:
    """Returns what is wrong with a document, or an empty list."""
    found = []
    if not re.fullmatch(r"3\.0\.\d+", document.get("openapi", "")):
        found.append(f"the gateway imports OpenAPI 3.0, and no version {document.get('openapi')!r}")
    if (size := len(json.dumps(document))) > _LARGEST:
        found.append(f"the document has {size} bytes, and the gateway imports {_LARGEST}")
    schemes = document.get("components", {}).get("securitySchemes", {})
    resources = set()
    for path, item in document.get("paths", {}).items():
        steps = path.strip("/").split("/") if path != "/" else []
        resources.update(tuple(steps[:count]) for count in range(len(steps) + 1))
        found += [f"{path}: {step!r} is no step of a path" for step in steps if not _PART.fullmatch(step)]
        for method, operation in item.items():
            found += [f"{method} {path}: {problem}" for problem in _operation(method, operation, schemes)]
    if len(resources) > _RESOURCES:
        found.append(f"the paths have {len(resources)} resources, and an API has at most {_RESOURCES}")
    return found


def _operation(method: str, operation: dict, schemes: dict) -> list[str]:
    found = []
    if method not in _METHODS:
        found.append("the gateway ignores this method")
    if "responses" not in operation:
        found.append("responses is missing")
    integration = operation.get(_INTEGRATION, {})
    if integration.get("type") != "aws_proxy" or integration.get("httpMethod") != "POST":
        found.append("a function is called by an integration of type aws_proxy with method POST")
    if not 50 <= integration.get("timeoutInMillis", 29000) <= 29000:
        found.append("the gateway waits for 50 ms to 29 s")
    for requirement in operation.get("security", []):
        found += [f"the security scheme {name} is not defined" for name in requirement if name not in schemes]
    return found
