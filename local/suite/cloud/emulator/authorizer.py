"""TOKEN authorizers, which LocalStack's community edition skips: it authorizes every request.
https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
"""

import json
import logging
import re
import threading
import time

from botocore.exceptions import ClientError
from localstack.aws.connect import connect_to
from localstack.services.apigateway.next_gen.execute_api import gateway, handlers
from localstack.services.apigateway.next_gen.execute_api.helpers import render_uri_with_stage_variables
from localstack.services.apigateway.next_gen.execute_api.gateway_response import (
    AccessDeniedError,
    AuthorizerConfigurationError,
    UnauthorizedError,
)
from localstack.utils.aws.client_types import ServicePrincipal

from emulator import policy

LOG = logging.getLogger(__name__)

_DEFAULT_TTL = 300  # seconds
_FUNCTION = re.compile(r"/functions/(arn:[^/]+)/invocations$")


def patch() -> None:
    """Runs the authorizers before the check of API keys, because an authorizer may supply the key."""
    initialize = gateway.RestApiGateway.__init__
    authorize = Authorizers()

    def extended(self):
        initialize(self)
        self.request_handlers.insert(self.request_handlers.index(handlers.api_key_validation_handler), authorize)

    gateway.RestApiGateway.__init__ = extended


class Authorizers:
    """Handles authorization in the gateway's chain."""

    def __init__(self):
        self._answers: dict[tuple, tuple[float, dict]] = {}
        self._lock = threading.Lock()

    def __call__(self, chain, context, response):
        method = context.resource_method
        if method.get("authorizationType") != "CUSTOM":
            return
        authorizer = context.deployment.rest_api.authorizers[method["authorizerId"]]
        request = context.invocation_request
        arn = (f"arn:aws:execute-api:{context.region}:{context.account_id}:{context.api_id}/{context.stage}/"
               f"{request['http_method']}/{request['path'].lstrip('/')}")
        answer = self._answer(context, authorizer, _token(authorizer, request["headers"]), arn)
        try:
            verdict = policy.decide([answer["policyDocument"]], policy.Request("execute-api:Invoke", arn))
            context.context_variables["authorizer"] = _variables(answer)
        except (KeyError, policy.Malformed) as error:
            LOG.error("the authorizer's answer is invalid: %r", error)
            raise AuthorizerConfigurationError() from error
        if verdict == policy.DENIED:
            raise AccessDeniedError("User is not authorized to access this resource with an explicit deny")
        if verdict == policy.SILENT:
            raise AccessDeniedError("User is not authorized to access this resource")
        if key := answer.get("usageIdentifierKey"):
            context.context_variables["identity"]["apiKey"] = key

    def _answer(self, context, authorizer, token, arn) -> dict:
        """Returns the function's answer. It is cached by token, so it must not depend on the request."""
        key = (context.api_id, context.stage, context.deployment_id, authorizer["id"], token)
        with self._lock:
            until, answer = self._answers.get(key, (0, None))
        if time.time() < until:
            return answer
        answer = _ask(context, authorizer, token, arn)
        with self._lock:
            self._answers[key] = time.time() + int(authorizer.get("authorizerResultTtlInSeconds", _DEFAULT_TTL)), answer
        return answer


def _token(authorizer, headers) -> str:
    """Returns the token if it matches the expected pattern; others are refused without a call of the function."""
    name = authorizer.get("identitySource", "method.request.header.Authorization").removeprefix("method.request.header.")
    token = headers.get(name)
    pattern = authorizer.get("identityValidationExpression")
    if not token or pattern and not re.fullmatch(pattern, token):
        raise UnauthorizedError("Unauthorized")
    return token


def _ask(context, authorizer, token, arn) -> dict:
    address = render_uri_with_stage_variables(authorizer["authorizerUri"], context.stage_variables)
    function = _FUNCTION.search(address).group(1)
    client = connect_to(region_name=context.region).lambda_.request_metadata(
        service_principal=ServicePrincipal.apigateway,
        source_arn=f"arn:aws:execute-api:{context.region}:{context.account_id}:{context.api_id}/authorizers/{authorizer['id']}",
    )
    event = {"type": "TOKEN", "authorizationToken": token, "methodArn": arn}
    try:
        result = client.invoke(FunctionName=function, Payload=json.dumps(event))
    except ClientError as error:  # such as a throttle: AWS documents the response for "failing to connect to a custom authorizer"
        LOG.info("the authorizer was not called: %s", error)
        raise AuthorizerConfigurationError() from error
    answer = json.loads(result["Payload"].read())
    if not result.get("FunctionError"):
        return answer
    if answer.get("errorMessage") == "Unauthorized":
        raise UnauthorizedError("Unauthorized")
    LOG.error("the authorizer failed: %s", answer)
    raise AuthorizerConfigurationError()


def _variables(answer) -> dict:
    """Returns the context as integrations receive it: every value as text. Objects and lists are refused."""
    variables = {}
    for name, value in (answer.get("context") or {}).items():
        if isinstance(value, (dict, list)):
            raise policy.Malformed(f"context {name} is not a scalar")
        variables[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return variables | {"principalId": answer["principalId"]}
