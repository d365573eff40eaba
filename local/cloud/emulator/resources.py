"""Resources of CloudFormation that LocalStack's community edition does not make, or makes otherwise than AWS."""

from localstack.services.apigateway.resource_providers.aws_apigateway_restapi import ApiGatewayRestApiProvider
from localstack.services.cloudformation.engine import template_deployer
from localstack.services.cloudformation.resource_provider import (
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
    ResourceProviderExecutor,
)
from localstack.services.lambda_.resource_providers.aws_lambda_function import LambdaFunctionProvider

_POLL = 0.2  # seconds between looks at a resource that takes its time; LocalStack's 5 make a minute of fifteen functions


def mend() -> None:
    providers = {provider.TYPE: provider for provider in (RestApi, Function, Authorizer, RotationSchedule)}
    load, loop = ResourceProviderExecutor.try_load_resource_provider, ResourceProviderExecutor.deploy_loop

    def chosen(resource_type):
        return providers[resource_type]() if resource_type in providers else load(resource_type)

    def brisk(self, *args, **kwargs):
        return loop(self, *args, **{"sleep_time": _POLL} | kwargs)

    ResourceProviderExecutor.try_load_resource_provider = staticmethod(chosen)
    ResourceProviderExecutor.deploy_loop = brisk
    # Each reference is resolved behind a guard that reads the source of every caller: three quarters of a deployment.
    for name in ("resolve_refs_recursively", "_resolve_refs_recursively"):
        setattr(template_deployer, name, getattr(template_deployer, name).__wrapped__)


class RestApi(ApiGatewayRestApiProvider):
    """LocalStack looks for where API keys come from under the name that the property has in API Gateway's own interface."""

    def create(self, request):
        source = request.desired_state.get("ApiKeySourceType")
        if source:
            request.desired_state["ApiKeySource"] = source
        return super().create(request)


class Function(LambdaFunctionProvider):
    """LocalStack's makes no reservation of concurrency, which its Lambda would keep to."""

    def create(self, request):
        event = super().create(request)
        reserved = request.desired_state.get("ReservedConcurrentExecutions")
        if event.status == OperationStatus.SUCCESS and reserved is not None:
            request.aws_client_factory.lambda_.put_function_concurrency(
                FunctionName=event.resource_model["FunctionName"], ReservedConcurrentExecutions=int(reserved))
        return event


def _done(model) -> ProgressEvent:
    return ProgressEvent(status=OperationStatus.SUCCESS, resource_model=model)


class Authorizer(ResourceProvider):
    """Not there in the community edition."""

    TYPE = "AWS::ApiGateway::Authorizer"
    SCHEMA = {
        "typeName": TYPE,
        "properties": {"RestApiId": {"type": "string"}, "AuthorizerId": {"type": "string"}},
        "primaryIdentifier": ["/properties/RestApiId", "/properties/AuthorizerId"],
        "readOnlyProperties": ["/properties/AuthorizerId"],
        "createOnlyProperties": ["/properties/RestApiId"],
        "required": ["RestApiId", "Name", "Type"],
    }
    _TEXTS = {
        "Name": "name", "Type": "type", "AuthorizerUri": "authorizerUri", "AuthorizerCredentials": "authorizerCredentials",
        "IdentitySource": "identitySource", "IdentityValidationExpression": "identityValidationExpression",
    }

    def create(self, request):
        model = request.desired_state
        arguments = {argument: model[name] for name, argument in self._TEXTS.items() if name in model}
        if "AuthorizerResultTtlInSeconds" in model:
            arguments["authorizerResultTtlInSeconds"] = int(model["AuthorizerResultTtlInSeconds"])
        made = request.aws_client_factory.apigateway.create_authorizer(restApiId=model["RestApiId"], **arguments)
        return _done(model | {"AuthorizerId": made["id"]})

    def delete(self, request):
        model = request.desired_state
        request.aws_client_factory.apigateway.delete_authorizer(
            restApiId=model["RestApiId"], authorizerId=model["AuthorizerId"])
        return _done(model)


_ROTATIONS = 3  # tries


def _rotated(secrets, model) -> bool:
    """Whether the rotation function went through its steps. What it left pending is gone on with."""
    try:
        version = secrets.rotate_secret(SecretId=model["SecretId"], RotationLambdaARN=model["RotationLambdaARN"])["VersionId"]
    except secrets.exceptions.InvalidRequestException:  # what was pending failed again
        return False
    return "AWSCURRENT" in secrets.describe_secret(SecretId=model["SecretId"])["VersionIdsToStages"].get(version, [])


class RotationSchedule(ResourceProvider):
    """LocalStack's does nothing. This one rotates the secret at once, and again when that fails, as AWS does; the schedule
    itself is not kept."""

    TYPE = "AWS::SecretsManager::RotationSchedule"
    SCHEMA = {
        "typeName": TYPE,
        "properties": {"Id": {"type": "string"}, "SecretId": {"type": "string"}},
        "primaryIdentifier": ["/properties/Id"],
        "readOnlyProperties": ["/properties/Id"],
        "createOnlyProperties": ["/properties/SecretId"],
        "required": ["SecretId"],
    }

    def create(self, request):
        model = request.desired_state
        secrets = request.aws_client_factory.secretsmanager
        if str(model.get("RotateImmediatelyOnUpdate", True)).lower() == "true":
            if not any(_rotated(secrets, model) for _ in range(_ROTATIONS)):
                return ProgressEvent(status=OperationStatus.FAILED, resource_model=model,
                                     message="the rotation did not make its version the current one: read the function's log")
        return _done(model | {"Id": model["SecretId"]})

    def delete(self, request):
        return _done(request.desired_state)
