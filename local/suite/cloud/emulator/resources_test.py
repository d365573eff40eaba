import types
import unittest

from localstack.services.cloudformation.resource_provider import OperationStatus

from emulator import resources


class Refused(Exception):
    pass


class Secrets:
    """A secret whose rotation function fails the given number of times."""

    exceptions = types.SimpleNamespace(InvalidRequestException=Refused)

    def __init__(self, failures):
        self.failures, self.tries = failures, 0

    def rotate_secret(self, **_):
        self.tries += 1
        if 1 < self.tries <= self.failures:
            raise Refused("Previous rotation request is still in progress.")
        return {"VersionId": "new"}

    def describe_secret(self, **_):
        done = self.tries > self.failures
        return {"VersionIdsToStages": {"old": ["AWSPREVIOUS"], "new": ["AWSCURRENT"]} if done
                else {"old": ["AWSCURRENT"], "new": ["AWSPENDING"]}}


def created(failures, **more):
    secrets = Secrets(failures)
    request = types.SimpleNamespace(
        desired_state={"SecretId": "s", "RotationLambdaARN": "f"} | more,
        aws_client_factory=types.SimpleNamespace(secretsmanager=secrets))
    return resources.RotationSchedule().create(request).status, secrets.tries


class TestRotationSchedule(unittest.TestCase):
    def test_at_once_and_again_when_it_fails(self):
        for failures, status, tries in (
            (0, OperationStatus.SUCCESS, 1), (1, OperationStatus.SUCCESS, 2), (2, OperationStatus.SUCCESS, 3), (3, OperationStatus.FAILED, 3),
        ):
            self.assertEqual(created(failures), (status, tries), failures)

    def test_not_at_once(self):
        self.assertEqual(created(0, RotateImmediatelyOnUpdate="false"), (OperationStatus.SUCCESS, 0))


class TestStage(unittest.TestCase):
    def test_more_values_than_one_update_takes(self):
        setting = {"HttpMethod": "GET", "ResourcePath": "/~1a", "LoggingLevel": "ERROR", "ThrottlingRateLimit": 1, "ThrottlingBurstLimit": 2}
        request = types.SimpleNamespace(desired_state={"MethodSettings": [setting] * 24, "Variables": {str(n): "f" for n in range(9)}})
        event = resources.Stage().create(request)
        self.assertEqual(event.status, OperationStatus.FAILED)
        self.assertIn("81 values", event.message)
