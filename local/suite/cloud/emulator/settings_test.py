import os
import subprocess
import sys
import tempfile
import unittest

# Takes leases until one is refused, in a process that LocalStack's settings are new to.
PROGRAM = """
import contextlib, sys
from emulator import settings
settings.apply(4566, sys.argv[1])
from localstack.aws.api.lambda_ import TooManyRequestsException
from localstack.services.lambda_.invocation.counting_service import CountingService
from localstack.services.lambda_.invocation.lambda_models import Function, VersionIdentifier
from localstack.services.lambda_.invocation.models import lambda_stores

class Version:
    id = VersionIdentifier("f", "$LATEST", "us-east-1", "000000000000")

function = Function("f")
function.versions["$LATEST"] = Version()
lambda_stores["000000000000"]["us-east-1"].functions["f"] = function
service, taken = CountingService(), 0
with contextlib.ExitStack() as leases:
    try:
        while taken < 100:
            leases.enter_context(service.get_invocation_lease(function, Version()))
            taken += 1
    except TooManyRequestsException:
        pass
print(taken)
"""


class Concurrency(unittest.TestCase):
    def test_eleventh(self):
        """The account runs ten invocations at a time, and refuses the next."""
        with tempfile.TemporaryDirectory() as home:
            out = subprocess.run([sys.executable, "-c", PROGRAM, home], capture_output=True, text=True, timeout=60, check=False,
                                 env=os.environ | {"LAMBDA_LIMITS_CONCURRENT_EXECUTIONS": "10"})
        self.assertEqual(out.stdout.strip(), "10", out.stderr)
