"""Lambda functions as plain processes, where LocalStack runs each in a container.

LocalStack still provides the rest of Lambda: the functions and their code, permissions to invoke, reserved concurrency,
asynchronous invocations. Only programs of the runtimes provided.* for this machine's architecture can run. Memory is not
limited. The module rights checks what a function's role allows.
"""

import os
import time
from pathlib import Path

from localstack.services.lambda_.invocation import execution_environment, runtime_executor
from localstack.services.lambda_.invocation.lambda_models import InvocationResult

from emulator.lineage import Chains
from emulator.runtime_api import Invocation, RuntimeApi
from emulator.sandbox import Sandbox


def patch(logs: Path) -> None:
    """Makes each sandbox log to a file, logs/FUNCTION/TIME-ID.log, in addition to CloudWatch Logs. The file dropped.jsonl next to
    the logs lists the invocations that end a loop."""
    api = RuntimeApi()

    class Executor(ProcessExecutor):
        pass

    Executor.api, Executor.logs, Executor.chains = api, logs, Chains(logs.parent / "dropped.jsonl")
    runtime_executor.EXECUTOR_PLUGIN_MANAGER = _Only(Executor)
    execution_environment.ExecutionEnvironment.get_log_group_name = _log_group


class ProcessExecutor(runtime_executor.RuntimeExecutor):
    api: RuntimeApi
    logs: Path
    chains: Chains

    def __init__(self, id, function_version):
        super().__init__(id, function_version)
        self._sandbox = None

    def start(self, env_vars):
        config, name = self.function_version.config, self.function_version.id.function_name
        program = os.path.join(config.code.get_unzipped_code_location(), "bootstrap")
        os.chmod(program, 0o755)  # a zip may not keep the mode
        folder = self.logs / name
        folder.mkdir(parents=True, exist_ok=True)
        environment = {key: str(value) for key, value in env_vars.items()} | {
            "AWS_LAMBDA_LOG_FORMAT": _logging(self.function_version).get("LogFormat", "Text"),
        }
        log = folder / f"{time.strftime('%H%M%S')}-{self.id[:8]}.log"
        self._sandbox = Sandbox(self.api, self.id, program, environment, str(log))

    def stop(self):
        if self._sandbox:
            self._sandbox.stop()

    def invoke(self, payload):
        event = payload["payload"].encode()
        trace = self.chains.follow(self.function_version.id.function_name, event, payload.get("trace-id") or "")
        if trace is None:
            return InvocationResult(
                request_id=payload["invoke-id"], payload=b'{"errorType":"RecursiveInvocationException"}', is_error=True, logs="",
            )
        result = self._sandbox.invoke(Invocation(
            request_id=payload["invoke-id"], payload=event,
            function_arn=payload["invoked-function-arn"], trace_id=trace,
            deadline=time.time() + self.function_version.config.timeout,
        ))
        return InvocationResult(
            request_id=payload["invoke-id"], payload=result.payload, is_error=result.failed, logs=result.logs,
        )

    def get_logs(self):
        return self._sandbox.text() if self._sandbox else ""

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return ""  # used only by the program in LocalStack's containers

    @classmethod
    def prepare_version(cls, function_version):
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        """Does nothing, so that the code stays: the next version uses the same code if only settings changed."""


class _Only:
    """Manages plugins with a single executor, which it returns for every name."""

    def __init__(self, executor):
        self._plugin = _Plugin(executor)

    def exists(self, _):
        return True

    def load(self, _):
        return self._plugin


class _Plugin:
    def __init__(self, executor):
        self._executor = executor

    def load(self):
        return self._executor


def _logging(function_version) -> dict:
    return function_version.config.logging_config or {}


def _log_group(environment) -> str:
    """Returns the function's configured log group. LocalStack writes to Lambda's default group instead."""
    version = environment.function_version
    return _logging(version).get("LogGroup") or f"/aws/lambda/{version.id.function_name}"
