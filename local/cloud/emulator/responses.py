"""Gateway responses as they are configured: LocalStack takes their status alone, and leaves out templates and headers."""

from rolo import Response

from localstack.services.apigateway.next_gen.execute_api.gateway_response import get_gateway_response_or_default
from localstack.services.apigateway.next_gen.execute_api.handlers.gateway_exception import GatewayExceptionHandler

from emulator import template


def mend() -> None:
    GatewayExceptionHandler.create_exception_response = _response


def _response(_, exception, context):
    configured = get_gateway_response_or_default(exception.type, context.deployment.rest_api.gateway_responses)
    variables = context.context_variables | {
        "error": {"message": exception.message or "", "responseType": str(exception.type)},
    }
    # The gateway chooses among the templates by the Accept header; nobody has more than the one of JSON.
    text = template.body(configured["responseTemplates"]["application/json"], variables)
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": exception.code}
    headers |= template.headers(configured.get("responseParameters") or {}, variables)
    return Response(text, status=int(configured.get("statusCode") or exception.status_code or 500), headers=headers)
