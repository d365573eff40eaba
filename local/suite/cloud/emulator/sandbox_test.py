import os
import sys
import tempfile
import time
import unittest

from emulator.runtime_api import Invocation, RuntimeApi
from emulator.sandbox import Sandbox

# A Runtime API program that does what its event says.
PROGRAM = f"""#!{sys.executable}
import json, os, sys, time, urllib.request
base = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
while True:
    with urllib.request.urlopen(base + "next") as response:
        event, request_id = json.load(response), response.headers["Lambda-Runtime-Aws-Request-Id"]
    print("got", event["do"], flush=True)
    if event["do"] == "exit":
        sys.exit(3)
    if event["do"] == "hang":
        time.sleep(60)
    kind = "error" if event["do"] == "fail" else "response"
    body = json.dumps({{"pid": os.getpid(), "set": os.environ["SET"]}}).encode()
    urllib.request.urlopen(urllib.request.Request(base + request_id + "/" + kind, data=body)).close()
"""


class Invoke(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = os.path.join(folder.name, "bootstrap")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(program, 0o700)
        self.sandbox = Sandbox(RuntimeApi(), "one", program, {"SET": "yes"}, os.path.join(folder.name, "log"))
        self.addCleanup(self.sandbox.stop)

    def invoke(self, do, seconds=60.0):
        return self.sandbox.invoke(Invocation(
            request_id=f"id-{do}", payload=b'{"do":"%s"}' % do.encode(), function_arn="arn", trace_id="",
            deadline=time.time() + seconds))

    def test_answers(self):
        first, second = self.invoke("answer"), self.invoke("answer")
        self.assertFalse(first.failed)
        self.assertIn(b'"set": "yes"', first.payload)
        self.assertEqual(first.payload, second.payload)  # from the same process
        self.assertIn("got answer", first.logs)
        self.assertIn("initDurationMs", first.logs)
        self.assertNotIn("initDurationMs", second.logs)
        self.assertEqual(second.logs.count("platform.start"), 1)

    def test_error(self):
        self.assertTrue(self.invoke("fail").failed)

    def test_restarts_after(self):
        for do, seconds, kind in (("exit", 60, b"Runtime.ExitError"), ("hang", 0.5, b"Sandbox.Timedout")):
            with self.subTest(do):
                lost = self.invoke(do, seconds)
                self.assertTrue(lost.failed)
                self.assertIn(kind, lost.payload)
                self.assertFalse(self.invoke("answer").failed)
