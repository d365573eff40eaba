"""DynamoDB Local from the jars that Maven downloads. LocalStack would download a zip of it, its own Java and a patch."""

import os
import shutil
import tempfile

from localstack import config
from localstack.services.dynamodb import packages, server

# LocalStack starts Java in its own session, so Java would outlive this process: a shell watches this process and kills Java.
_WATCHED = '"$@" & child=$!; trap "kill $child" TERM; while kill -0 $PPID 2>/dev/null && kill -0 $child 2>/dev/null; do sleep 1; done; kill -9 $child 2>/dev/null'


def patch(jars: str) -> None:
    def command(self):
        return ["/bin/sh", "-c", _WATCHED, "sh",
                shutil.which("java"), f"-Xmx{config.DYNAMODB_HEAP_SIZE}", f"-Djava.library.path={jars}",
                f"-Djava.io.tmpdir={tempfile.gettempdir()}",  # it unpacks a library there and does not remove it
                "-cp", os.path.join(jars, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
                "-inMemory", "-disableTelemetry", "-port", str(self.port)]

    server.DynamodbServer._create_shell_command = command
    installer = packages.DynamoDBLocalPackageInstaller
    installer.install = lambda self, *_, **__: None
    installer.get_java_env_vars = lambda self: {"PATH": os.environ["PATH"]}
