"""Sandboxes. Each runs one process of a function's program, one invocation at a time, and restarts it after an exit or a
timeout."""

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from emulator.runtime_api import Invocation, RuntimeApi


@dataclass
class Result:
    payload: bytes
    failed: bool
    logs: str


class Sandbox:
    def __init__(self, api: RuntimeApi, name: str, program: str, environment: dict[str, str], log: str):
        self._api, self._name, self._program, self._log = api, name, program, log
        self._environment = environment | {"LAMBDA_TASK_ROOT": os.path.dirname(program), "PATH": os.environ["PATH"]}
        self._lock = threading.Lock()
        self._stopped = False
        self._start()

    def _start(self) -> None:
        """Starts the program with a new mailbox, because the previous program's poll may still hold the old one."""
        self._api.close(self._name)
        address, self._mailbox = self._api.open(self._name)
        self._started = time.time()
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [self._program], cwd=os.path.dirname(self._program),
                env=self._environment | {"AWS_LAMBDA_RUNTIME_API": address},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    def invoke(self, invocation: Invocation) -> Result:
        with self._lock:
            if self._process.poll() is not None and not self._stopped:
                self._start()
        before, begun, cold = os.path.getsize(self._log), time.time(), self._mailbox.asked == 0
        self._note("platform.start", requestId=invocation.request_id, version="$LATEST")
        self._mailbox.put(invocation)
        status = self._wait(invocation)
        metrics = {"durationMs": round((time.time() - begun) * 1000, 3)}
        if cold and self._mailbox.asked:
            metrics["initDurationMs"] = round((self._mailbox.asked - self._started) * 1000, 3)
        self._note("platform.report", requestId=invocation.request_id, status=status, metrics=metrics)
        return Result(invocation.answer, invocation.failed, self._since(before))

    def _wait(self, invocation: Invocation) -> str:
        """Waits for the answer, the program's exit or the deadline, and returns the status."""
        about = f"RequestId: {invocation.request_id} Error: "
        while not invocation.answered.wait(0.05):
            code = self._process.poll()
            if code is not None and not invocation.answered.is_set():
                invocation.settle(_error("Runtime.ExitError", f"{about}Runtime exited with code {code}"), failed=True)
                return "failure"
            if time.time() > invocation.deadline:
                self._process.kill()
                self._process.wait()
                invocation.settle(_error("Sandbox.Timedout", f"{about}Task timed out"), failed=True)
                return "timeout"
        return "error" if invocation.failed else "success"

    def _note(self, kind: str, **record) -> None:
        """Writes a platform record as Lambda does in a log of JSON lines."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with open(self._log, "a", encoding="utf-8") as log:
            log.write(json.dumps({"time": now, "type": kind, "record": record}) + "\n")

    def _since(self, offset: int) -> str:
        with open(self._log, "rb") as log:
            log.seek(offset)
            return log.read().decode("utf-8", "replace")

    def text(self) -> str:
        return self._since(0)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
        self._api.close(self._name)
        self._process.terminate()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()
