"""CloudFormation resources that LocalStack's community edition does not create, or creates differently from AWS."""

import json

from emulator import document
from localstack.services.apigateway.resource_providers.aws_apigateway_restapi import ApiGatewayRestApiProvider
from localstack.services.apigateway.resource_providers.aws_apigateway_stage import ApiGatewayStageProvider
from localstack.services.cloudformation.engine import template_deployer
from localstack.services.cloudformation.resource_provider import (
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
    ResourceProviderExecutor,
)
from localstack.services.dynamodb.resource_providers.aws_dynamodb_table import DynamoDBTableProvider
from localstack.services.lambda_.resource_providers.aws_lambda_eventsourcemapping import LambdaEventSourceMappingProvider
from localstack.services.lambda_.resource_providers.aws_lambda_function import LambdaFunctionProvider

_POLL = 0.2  # seconds between polls of a pending resource; with LocalStack's 5, fifteen functions take a minute


def patch() -> None:
    providers = {provider.TYPE: provider for provider in (RestApi, Stage, Table, Function, Mapping, RotationSchedule)}
    load, loop = ResourceProviderExecutor.try_load_resource_provider, ResourceProviderExecutor.deploy_loop

    def chosen(resource_type):
        return providers[resource_type]() if resource_type in providers else load(resource_type)

    def brisk(self, *args, **kwargs):
        return loop(self, *args, **{"sleep_time": _POLL} | kwargs)

    ResourceProviderExecutor.try_load_resource_provider = staticmethod(chosen)
    ResourceProviderExecutor.deploy_loop = brisk
    # LocalStack wraps the resolution of references in a guard that reads every caller's source: 3/4 of a deployment's time.
    for name in ("resolve_refs_recursively", "_resolve_refs_recursively"):
        setattr(template_deployer, name, getattr(template_deployer, name).__wrapped__)


class RestApi(ApiGatewayRestApiProvider):
    """Imports the API's document as strictly as AWS, with its gateway responses, which LocalStack does not import. An update imports
    another document into the same API; LocalStack updates none."""

    def create(self, request):
        return self._imported(request, super().create)

    def update(self, request):
        def put(request):
            model = request.desired_state | {"RestApiId": request.previous_state["RestApiId"]}
            request.aws_client_factory.apigateway.put_rest_api(
                restApiId=model["RestApiId"], mode=model["Mode"], body=json.dumps(model["Body"]).encode())
            root = request.previous_state["RootResourceId"]
            return _done(model | {"RootResourceId": root})

        return self._imported(request, put)

    def _imported(self, request, write) -> ProgressEvent:
        model = request.desired_state
        if problems := document.problems(model["Body"]):
            return ProgressEvent(status=OperationStatus.FAILED, resource_model=model, message="; ".join(problems))
        event = write(request)
        for kind, response in model["Body"].get(document.RESPONSES, {}).items():
            request.aws_client_factory.apigateway.put_gateway_response(
                restApiId=event.resource_model["RestApiId"], responseType=kind, **response)
        return event


_STAGE_VALUES = 80  # that UpdateStage takes, as public reports say


class Stage(ApiGatewayStageProvider):
    """Refuses more values than one update of a stage takes, and makes a stage again to update it. LocalStack updates none."""

    def create(self, request):
        model = request.desired_state
        settings = sum(len(setting) - 2 for setting in model.get("MethodSettings", []))  # a method and a path name a setting
        if (values := settings + len(model.get("Variables", {}))) > _STAGE_VALUES:
            return ProgressEvent(status=OperationStatus.FAILED, resource_model=model,
                                 message=f"{values} values of a stage, and UpdateStage takes about {_STAGE_VALUES}")
        return super().create(request)

    def update(self, request):
        api, model = request.aws_client_factory.apigateway, request.desired_state
        try:
            api.delete_stage(restApiId=model["RestApiId"], stageName=model["StageName"])
        except api.exceptions.NotFoundException:  # LocalStack has deleted it with its deployment
            pass
        return self.create(request)


class Function(LambdaFunctionProvider):
    """Reserves concurrency: LocalStack's Lambda enforces reservations, but its CloudFormation does not create them."""

    def create(self, request):
        event = super().create(request)
        reserved = request.desired_state.get("ReservedConcurrentExecutions")
        if event.status == OperationStatus.SUCCESS and reserved is not None:
            request.aws_client_factory.lambda_.put_function_concurrency(
                FunctionName=event.resource_model["FunctionName"], ReservedConcurrentExecutions=int(reserved))
        return event


class Table(DynamoDBTableProvider):
    """Enables point-in-time recovery, which LocalStack's CloudFormation ignores."""

    def create(self, request):
        event = super().create(request)
        recovery = request.desired_state.get("PointInTimeRecoverySpecification")
        if event.status == OperationStatus.SUCCESS and recovery:
            request.aws_client_factory.dynamodb.update_continuous_backups(
                TableName=event.resource_model["TableName"],
                PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": str(recovery["PointInTimeRecoveryEnabled"]).lower() == "true"})
        return event


class Mapping(LambdaEventSourceMappingProvider):
    """Replaces a mapping whose source changes, as CloudFormation does. LocalStack keeps the old source."""

    def update(self, request):
        if request.desired_state["EventSourceArn"] == request.previous_state["EventSourceArn"]:
            return super().update(request)
        event = super().create(request)
        request.aws_client_factory.lambda_.delete_event_source_mapping(UUID=request.previous_state["Id"])
        return event


def _done(model) -> ProgressEvent:
    return ProgressEvent(status=OperationStatus.SUCCESS, resource_model=model)


_ROTATIONS = 3  # attempts


def _rotated(secrets, model) -> bool:
    """Rotates the secret and reports whether all steps succeeded. A pending rotation is continued."""
    try:
        version = secrets.rotate_secret(SecretId=model["SecretId"], RotationLambdaARN=model["RotationLambdaARN"])["VersionId"]
    except secrets.exceptions.InvalidRequestException:  # the pending rotation failed again
        return False
    return "AWSCURRENT" in secrets.describe_secret(SecretId=model["SecretId"])["VersionIdsToStages"].get(version, [])


class RotationSchedule(ResourceProvider):
    """Rotates the secret at once and retries as AWS does. It does not follow the schedule. LocalStack's own provider does nothing."""

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
                                     message="the rotation did not promote its version to AWSCURRENT; read the function's log")
        return _done(model | {"Id": model["SecretId"]})

    def delete(self, request):
        return _done(request.desired_state)
