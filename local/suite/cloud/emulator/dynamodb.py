"""DynamoDB Local from the jars that Maven downloads, and point-in-time restores, which it lacks. LocalStack would download a
zip of it, its own Java and a patch."""

import os
import shutil
import tempfile

from localstack import config
from localstack.aws.api.dynamodb import PointInTimeRecoveryUnavailableException
from localstack.aws.connect import connect_to
from localstack.services.dynamodb import packages, server
from localstack.services.dynamodb.v2 import provider

# LocalStack starts Java in its own session, so Java would outlive this process: a shell watches this process and kills Java.
_WATCHED = '"$@" & child=$!; trap "kill $child" TERM; while kill -0 $PPID 2>/dev/null && kill -0 $child 2>/dev/null; do sleep 1; done; kill -9 $child 2>/dev/null'


def patch(jars: str) -> None:
    def command(self):
        return ["/bin/sh", "-c", _WATCHED, "sh",
                shutil.which("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",  # a test is too short for the second compiler
                f"-Xmx{config.DYNAMODB_HEAP_SIZE}", f"-Djava.library.path={jars}",
                f"-Djava.io.tmpdir={tempfile.gettempdir()}",  # it unpacks a library there and does not remove it
                "-cp", os.path.join(jars, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
                "-inMemory", "-disableTelemetry", "-port", str(self.port)]

    server.DynamodbServer._create_shell_command = command
    installer = packages.DynamoDBLocalPackageInstaller
    installer.install = lambda self, *_, **__: None
    installer.get_java_env_vars = lambda self: {"PATH": os.environ["PATH"]}
    provider.DynamoDBProvider.restore_table_to_point_in_time = _restore


def _restore(self, context, target_table_name, source_table_name=None, **_) -> dict:
    """Restores the present items as a table without a stream, TTL, recovery, tags and protection, as AWS does. The moment is
    ignored, because there is no history.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
    """
    client = connect_to(aws_access_key_id=context.account_id, region_name=context.region).dynamodb
    backups = client.describe_continuous_backups(TableName=source_table_name)["ContinuousBackupsDescription"]
    if backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] != "ENABLED":
        raise PointInTimeRecoveryUnavailableException("Point in time recovery is not enabled for table " + source_table_name)
    source = client.describe_table(TableName=source_table_name)["Table"]
    made = client.create_table(
        TableName=target_table_name, KeySchema=source["KeySchema"], AttributeDefinitions=source["AttributeDefinitions"],
        BillingMode="PAY_PER_REQUEST")
    for page in client.get_paginator("scan").paginate(TableName=source_table_name, ConsistentRead=True):
        for item in page["Items"]:
            client.put_item(TableName=target_table_name, Item=item)
    return {"TableDescription": made["TableDescription"]}
