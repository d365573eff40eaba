"""The Runtime API, from which a function's program takes invocations and to which it posts answers.

One server serves every sandbox. Each sandbox gets an address with its own path, 127.0.0.1:PORT/SANDBOX, which the
program prefixes to the API's paths.
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import queue
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Invocation:
    request_id: str
    payload: bytes
    function_arn: str
    trace_id: str
    deadline: float  # seconds since 1970
    answered: threading.Event = field(default_factory=threading.Event)
    answer: bytes = b""
    failed: bool = False

    def settle(self, answer: bytes, failed: bool) -> None:
        self.answer, self.failed = answer, failed
        self.answered.set()


class Mailbox:
    """Queues invocations for one program, which processes one at a time."""

    def __init__(self):
        self._waiting: queue.Queue[Invocation | None] = queue.Queue()
        self._current: Invocation | None = None
        self.asked: float = 0  # time of the program's first poll, which ends its initialization

    def put(self, invocation: Invocation) -> None:
        self._waiting.put(invocation)

    def close(self) -> None:
        self._waiting.put(None)

    def next(self) -> Invocation | None:
        self.asked = self.asked or time.time()
        self._current = self._waiting.get()
        return self._current

    def settle(self, request_id: str, answer: bytes, failed: bool) -> bool:
        current = self._current
        if current is None or current.request_id != request_id:
            return False  # the answer came after the deadline
        current.settle(answer, failed)
        return True


class RuntimeApi:
    def __init__(self):
        self._mailboxes: dict[str, Mailbox] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.mailboxes = self._mailboxes
        threading.Thread(target=self._server.serve_forever, name="runtime-api", daemon=True).start()

    def open(self, sandbox: str) -> tuple[str, Mailbox]:
        """Returns the address and the mailbox of a new sandbox's program."""
        mailbox = self._mailboxes[sandbox] = Mailbox()
        return f"127.0.0.1:{self._server.server_port}/{sandbox}", mailbox

    def close(self, sandbox: str) -> None:
        if mailbox := self._mailboxes.pop(sandbox, None):
            mailbox.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    mailboxes: dict[str, Mailbox]

    def handle_error(self, request, client_address):
        """Ignores lost connections: the sandbox notices that its program ended."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self):
        mailbox, action = self._route()
        if mailbox is None or action != ["next"]:
            return self._reply(404)
        invocation = mailbox.next()
        if invocation is None:
            return self._reply(410)
        self._reply(200, invocation.payload, {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Invoked-Function-Arn": invocation.function_arn,
            "Lambda-Runtime-Trace-Id": invocation.trace_id,
            "Lambda-Runtime-Deadline-Ms": str(int(invocation.deadline * 1000)),
        })

    def do_POST(self):
        body = self._body()
        mailbox, action = self._route()
        if mailbox is None or len(action) != 2 or action[1] not in ("response", "error"):
            return self._reply(404)
        known = mailbox.settle(action[0], body, failed=action[1] == "error")
        self._reply(202 if known else 400)

    def _route(self) -> tuple[Mailbox | None, list[str]]:
        """/SANDBOX/2018-06-01/runtime/invocation/ACTION…"""
        parts = self.path.strip("/").split("/")
        if parts[1:4] != ["2018-06-01", "runtime", "invocation"]:
            return None, []
        return self.server.mailboxes.get(parts[0]), parts[4:]

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = bytearray()
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return bytes(body)

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass  # a line per request would flood the emulator's log
