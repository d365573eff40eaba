"""Maps a function's request to an AWS service to the rights that it needs.
https://docs.aws.amazon.com/service-authorization/latest/reference/reference.html
"""

import re
from dataclasses import dataclass

from emulator.condition import Malformed
from emulator.policy import Request


@dataclass(frozen=True)
class Table:
    keys: dict[str, str]  # name of the partition key by index; "" stands for the table
    at_rest: str = ""  # ARN of the customer-managed key that encrypts the table


@dataclass(frozen=True)
class Call:
    service: str  # such as dynamodb
    operation: str  # such as PutItem
    parameters: dict
    method: str = "POST"
    path: str = "/"


class Account:
    """Knows the resources of one account and region. The emulator and the tests each look them up in their own way."""

    def __init__(self, number: str, region: str):
        self.number, self.region = number, region

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.number}:{resource}"

    def table(self, name: str) -> Table:
        raise NotImplementedError

    def secret(self, name: str) -> str:
        """Returns the ARN of a secret by its name or ARN."""
        raise NotImplementedError

    def sealed_by(self, ciphertext: bytes) -> str:
        """Returns the id of the KMS key that encrypted a text."""
        raise NotImplementedError


def of(call: Call, account: Account) -> list[Request]:
    """Returns everything that the call needs. Raises Malformed for a call whose rights the emulator does not know."""
    if call.service not in _SERVICES:
        raise Malformed(f"rights of service {call.service}")
    try:
        return _SERVICES[call.service](call, account)
    except (KeyError, TypeError) as error:
        raise Malformed(f"{call.service}:{call.operation} without {error}") from error


# Every request of the AWS SDK is encrypted; the emulator's own connections are not.
_COMMON = {"aws:securetransport": ["true"]}


def _dynamodb(call: Call, account: Account) -> list[Request]:
    items = list(_items(call, account))
    if not items:
        raise Malformed(f"rights of dynamodb:{call.operation}")
    needs = {}
    for action, table, index, partitions in items:
        resource = account.arn("dynamodb", f"table/{table}" + (f"/index/{index}" if index else ""))
        needs.setdefault((action, resource, table), []).append(partitions)
    enclosing = [call.operation] if call.operation.startswith("Transact") else []
    found = []
    for (action, resource, table), groups in needs.items():
        for partitions in groups:
            found.append(Request(f"dynamodb:{action}", resource, _COMMON | {
                "dynamodb:leadingkeys": partitions, "dynamodb:enclosingoperation": enclosing,
            }))
        if account.table(table).at_rest:
            found.append(_at_rest(table, account))
    return found


def _at_rest(table: str, account: Account) -> Request:
    """DynamoDB decrypts a table's key as the caller.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
    """
    return Request("kms:Decrypt", account.table(table).at_rest, _COMMON | {
        "kms:calleraccount": [account.number], "kms:viaservice": [f"dynamodb.{account.region}.amazonaws.com"],
        "kms:encryptioncontextkeys": ["aws:dynamodb:tableName", "aws:dynamodb:subscriberId"],
        "kms:encryptioncontext:aws:dynamodb:tablename": [table], "kms:encryptioncontext:aws:dynamodb:subscriberid": [account.number],
    })


def _items(call: Call, account: Account):
    """Yields action, table, index and the values of the partition key, for each part of a call. The parts of a transaction need
    the rights of single calls; a batch has actions of its own.
    """
    given, operation = call.parameters, call.operation

    def leading(table, *keys):
        return [_text(key[account.table(table).keys[""]]) for key in keys]

    if operation in ("GetItem", "UpdateItem", "DeleteItem"):
        yield operation, given["TableName"], "", leading(given["TableName"], given["Key"])
    elif operation == "PutItem":
        yield operation, given["TableName"], "", leading(given["TableName"], given["Item"])
    elif operation == "Query":
        index = given.get("IndexName", "")
        yield operation, given["TableName"], index, [_queried(given, account.table(given["TableName"]).keys[index])]
    elif operation == "Scan":
        yield operation, given["TableName"], given.get("IndexName", ""), []
    elif operation in ("TransactWriteItems", "TransactGetItems"):
        for part in given["TransactItems"]:
            for name, one in part.items():
                key = one["Item"] if name == "Put" else one["Key"]
                action = "ConditionCheckItem" if name == "ConditionCheck" else f"{name}Item"
                yield action, one["TableName"], "", leading(one["TableName"], key)
    elif operation == "BatchGetItem":
        for table, one in given["RequestItems"].items():
            yield operation, table, "", leading(table, *one["Keys"])
    elif operation == "BatchWriteItem":
        for table, writes in given["RequestItems"].items():
            yield operation, table, "", leading(table, *(
                write["PutRequest"]["Item"] if "PutRequest" in write else write["DeleteRequest"]["Key"] for write in writes))


def _queried(given: dict, key: str) -> str:
    """Returns the value that a query demands of its partition key."""
    expression, names = given.get("KeyConditionExpression", ""), given.get("ExpressionAttributeNames", {})
    for name, value in re.findall(r"([#\w.-]+)\s*=\s*(:\w+)", expression):
        if names.get(name, name) == key:
            return _text(given["ExpressionAttributeValues"][value])
    raise Malformed(f"key condition {expression!r}")


def _text(value: dict) -> str:
    return value["S"] if "S" in value else str(value.get("N", value.get("B")))


def _streams(call: Call, account: Account) -> list[Request]:
    if call.operation == "ListStreams":
        return [Request("dynamodb:ListStreams", "*", _COMMON)]
    given = call.parameters
    written = re.search(r"table/[^/|]+/stream/[^|]+", given.get("StreamArn") or given["ShardIterator"])
    if not written:
        raise Malformed(f"stream in {given}")
    return [Request(f"dynamodb:{call.operation}", account.arn("dynamodb", written.group()), _COMMON)]


def _sqs(call: Call, account: Account) -> list[Request]:
    queue = call.parameters["QueueUrl"].rpartition("/")[2]
    return [Request(f"sqs:{call.operation.removesuffix('Batch')}", account.arn("sqs", queue), _COMMON)]


def _kms(call: Call, account: Account) -> list[Request]:
    if call.operation not in ("Encrypt", "Decrypt", "GenerateDataKey", "DescribeKey"):
        raise Malformed(f"rights of kms:{call.operation}")
    given = call.parameters
    key = given.get("KeyId") or account.sealed_by(given["CiphertextBlob"])
    if key.startswith("alias/") or ":alias/" in key:
        raise Malformed(f"alias {key}")
    bound = given.get("EncryptionContext") or {}
    return [Request(f"kms:{call.operation}", key if key.startswith("arn:") else account.arn("kms", f"key/{key}"), _COMMON | {
        "kms:calleraccount": [account.number], "kms:viaservice": [], "kms:encryptioncontextkeys": list(bound),
    } | {f"kms:encryptioncontext:{name.lower()}": [value] for name, value in bound.items()})]


def _secrets(call: Call, account: Account) -> list[Request]:
    return [Request(f"secretsmanager:{call.operation}", account.secret(call.parameters["SecretId"]), _COMMON)]


def _apigateway(call: Call, account: Account) -> list[Request]:
    return [Request(f"apigateway:{call.method}", f"arn:aws:apigateway:{account.region}::{call.path.partition('?')[0]}", _COMMON)]


def _logs(call: Call, account: Account) -> list[Request]:
    group = f"log-group:{call.parameters['logGroupName']}"
    stream = call.parameters.get("logStreamName")
    return [Request(f"logs:{call.operation}", account.arn("logs", f"{group}:log-stream:{stream}" if stream else group), _COMMON)]


def _xray(call: Call, _: Account) -> list[Request]:
    return [Request(f"xray:{call.operation}", "*", _COMMON)]


_SERVICES = {
    "dynamodb": _dynamodb, "dynamodbstreams": _streams, "sqs": _sqs, "kms": _kms, "secretsmanager": _secrets,
    "apigateway": _apigateway, "logs": _logs, "xray": _xray,
}
