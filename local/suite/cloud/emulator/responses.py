"""Gateway responses with their templates and headers: LocalStack applies only their status."""

from rolo import Response

from localstack.services.apigateway.next_gen.execute_api.gateway_response import get_gateway_response_or_default
from localstack.services.apigateway.next_gen.execute_api.handlers.gateway_exception import GatewayExceptionHandler

from emulator import template


def patch() -> None:
    GatewayExceptionHandler.create_exception_response = _response


def _response(_, exception, context):
    configured = get_gateway_response_or_default(exception.type, context.deployment.rest_api.gateway_responses)
    variables = context.context_variables | {
        "error": {"message": exception.message or "", "responseType": str(exception.type)},
    }
    # The gateway chooses a template by the Accept header; the stack has only one, for JSON.
    text = template.body(configured["responseTemplates"]["application/json"], variables)
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": exception.code}
    headers |= template.headers(configured.get("responseParameters") or {}, variables)
    return Response(text, status=int(configured.get("statusCode") or exception.status_code or 500), headers=headers)
