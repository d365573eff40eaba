"""IAM, which LocalStack's community edition skips: it allows every request.

Each request of a function, and of Lambda in the function's role, needs what AWS would ask for: an allowance by the role's
policies as deployed, and no denial there or in the resource's own policy. Requests of other callers, such as the CDK and
operators, pass. A refusal is logged, and appended to FOLDER/refusals.jsonl.
"""

import json
import logging
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from localstack.aws import handlers
from localstack.aws.api import CommonServiceException
from localstack.aws.app import LocalstackAwsGateway
from localstack.services.dynamodb.models import dynamodb_stores
from localstack.services.kms.models import deserialize_ciphertext_blob, kms_stores
from localstack.services.sqs.models import sqs_stores
from localstack.utils.aws.request_context import extract_access_key_id_from_auth_header
from moto.iam.models import iam_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.sts.models import sts_backends

from emulator import needs, policy

LOG = logging.getLogger(__name__)

# LocalStack creates a function's log group itself, in the function's role, although the group exists. Lambda does not.
_NOT_ON_AWS = ("logs", "CreateLogGroup")

# Statuses of a refusal, where they differ from 400.
_STATUS = {"apigateway": 403, "sqs": 403}


def patch(folder: Path) -> None:
    """Checks each request after it has been parsed and before its service gets it."""
    initialize = LocalstackAwsGateway.__init__
    guard = Guard(folder / "refusals.jsonl")

    def extended(self, *args, **kwargs):
        initialize(self, *args, **kwargs)
        self.request_handlers.insert(self.request_handlers.index(handlers.parse_service_request) + 1, guard)

    LocalstackAwsGateway.__init__ = extended


@dataclass(frozen=True)
class Role:
    """A function's role at the time of a request."""

    arn: str
    session: str  # ARN of the session
    policies: list[dict]


def refusal(role: Role, requests: list[policy.Request], resource_policy) -> tuple[policy.Request, str] | None:
    """Returns the first request that the role may not make, with the reason, or None.

    resource_policy returns the policy of a resource by its ARN, or None. A part of a policy that the emulator cannot evaluate
    refuses the request.
    """
    for request in requests:
        try:
            reason = _reason(role, request, resource_policy(request.resource))
        except policy.Malformed as error:
            reason = f"because the emulator cannot evaluate: {error}"
        if reason:
            return request, reason
    return None


def _reason(role: Role, request: policy.Request, of_resource: dict | None) -> str:
    """Returns why a request is refused, or nothing.
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-basics-id-rdp.html
    https://docs.aws.amazon.com/kms/latest/developerguide/policy-evaluation.html
    """
    by_role = policy.decide(role.policies, request)
    by_resource = policy.decide_for(of_resource, role.arn, request) if of_resource else policy.SILENT
    if by_role == policy.DENIED:
        return "with an explicit deny in an identity-based policy"
    if by_resource == policy.DENIED:
        return "with an explicit deny in a resource-based policy"
    if by_resource == policy.ALLOWED:
        return ""
    if request.action.startswith("kms:") and by_resource == policy.SILENT:
        return f"because no resource-based policy allows the {request.action} action"
    if by_role == policy.SILENT:
        return f"because no identity-based policy allows the {request.action} action"
    return ""


class Guard:
    """Refuses requests in LocalStack's chain of handlers."""

    def __init__(self, file: Path):
        self._file, self._lock = file, threading.Lock()

    def __call__(self, chain, context, response):
        if not context.service or not context.operation:
            return
        role = _caller(context)
        service, operation = context.service.service_name, context.operation.name
        if role is None or context.is_internal_call and (service, operation) == _NOT_ON_AWS:
            return
        account = Deployed(context.account_id, context.region)
        call = needs.Call(service, operation, context.service_request, context.request.method, context.request.path)
        try:
            requests = needs.of(call, account)
        except policy.Malformed as error:
            return self._refuse(role, service, f"{service}:{operation}", "*", f"because the emulator cannot evaluate: {error}")
        if refused := refusal(role, requests, account.policy):
            request, reason = refused
            self._refuse(role, service, request.action, request.resource, reason)

    def _refuse(self, role: Role, service: str, action: str, resource: str, reason: str):
        message = f"User: {role.session} is not authorized to perform: {action} on resource: {resource} {reason}"
        LOG.error("%s", message)
        line = json.dumps({"role": role.arn.rpartition("/")[2], "action": action, "resource": resource, "reason": reason})
        with self._lock, open(self._file, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        raise CommonServiceException("AccessDeniedException", message, status_code=_STATUS.get(service, 400), sender_fault=True)


def _caller(context) -> Role | None:
    """Returns the role of a caller, if Lambda may assume the role; None for any other caller."""
    key = extract_access_key_id_from_auth_header(context.request.headers)
    session = _session(context.account_id, key)
    if session is None:
        return None
    role = iam_backends[context.account_id]["aws"].get_role_by_arn(session.role_arn)
    if "lambda.amazonaws.com" not in json.dumps(role.assume_role_policy_document):
        return None
    documents = [*role.policies.values(), *(managed.document for managed in role.managed_policies.values())]
    return Role(session.role_arn, session.arn, [_parsed(document) for document in documents])


def _session(account: str, key: str):
    found = _SESSIONS.get(key)
    if found is None:
        found = sts_backends[account]["aws"].get_assumed_role_from_access_key(key)
        if found is not None:
            _SESSIONS[key] = found
    return found


_SESSIONS: dict = {}  # a session never changes, and LocalStack looks one up by reading them all


@lru_cache(maxsize=256)
def _parsed(document: str) -> dict:
    return json.loads(document)


class Deployed(needs.Account):
    """Looks resources up in LocalStack's stores."""

    def table(self, name):
        definition = dynamodb_stores[self.number][self.region].table_definitions[name]
        indexes = {"": definition} | {
            index["IndexName"]: index
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes") for index in definition.get(kind) or []
        }
        keys = {
            index: next(key["AttributeName"] for key in one["KeySchema"] if key["KeyType"] == "HASH")
            for index, one in indexes.items()
        }
        return needs.Table(keys, (definition.get("SSEDescription") or {}).get("KMSMasterKeyArn", ""))

    def secret(self, name):
        return secretsmanager_backends[self.number][self.region].secrets[name].arn

    def sealed_by(self, ciphertext):
        return deserialize_ciphertext_blob(ciphertext).key_id

    def policy(self, arn: str) -> dict | None:
        """Returns a resource's own policy, or None if the resource has none or does not exist."""
        if arn == "*":
            return None
        _, _, service, _, _, resource = arn.split(":", 5)
        try:
            if service == "kms":
                text = kms_stores[self.number][self.region].keys[resource.removeprefix("key/")].policy
            elif service == "sqs":
                text = sqs_stores[self.number][self.region].queues[resource].attributes.get("Policy")
            elif service == "secretsmanager":
                text = secretsmanager_backends[self.number][self.region].secrets[arn].policy
            else:
                return None
        except KeyError:
            return None
        return _parsed(text) if text else None
