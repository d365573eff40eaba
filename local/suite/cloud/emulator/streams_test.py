import io
import json
import os
import time
import unittest

from botocore.exceptions import ClientError
from localstack.services.lambda_.event_source_mapping.event_processor import BatchFailureError, PartialBatchFailureError

from emulator import streams

GOLDEN = os.path.join(os.path.dirname(__file__), "../../../../infra/testdata/Orgops.template.json")


def record(number, age=0, event="INSERT", **images):
    return {"eventID": str(number), "eventName": event, "dynamodb": {
        "Keys": {"pk": {"S": "C#acme"}, "sk": {"S": "X"}}, "SequenceNumber": str(number),
        "ApproximateCreationDateTime": _At(time.time() - age), **images}}


class _At(float):
    """Imitates the time type of the client of DynamoDB's streams."""

    def timestamp(self):
        return float(self)


class Poller(streams.Poller):
    """Polls for a function that fails as the test says, and records what goes to the destination."""

    def __init__(self, fail, filters=(), **parameters):
        super().__init__(
            "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/s",
            {"DynamoDBStreamParameters": parameters, "FilterCriteria": {"Filters": list(filters)}}, object(), self)
        self.fail, self.batches, self.given_up = fail, [], []

    def process_events_batch(self, events):
        numbers = [int(event["eventID"]) for event in events]
        self.batches.append(numbers)
        self.fail(numbers)

    def generate_event_failure_context(self, abort_condition, **_):
        return abort_condition

    def send_events_to_dlq(self, shard_id, events, context):
        self.given_up.append((context, [int(event["eventID"]) for event in events]))

    def run(self, *records):
        self.forward_events_to_target("shard", list(records))


def nothing(_):
    pass


def broken_by(bad):
    def fail(numbers):
        if bad in numbers:
            raise BatchFailureError(error={})
    return fail


def reporting(bad):
    def fail(numbers):
        if bad in numbers:
            raise PartialBatchFailureError(partial_failure_payload={"batchItemFailures": [{"itemIdentifier": str(bad)}]}, error={})
    return fail


class WindowedTest(unittest.TestCase):
    def invoke(self, answer):
        class Client:
            def invoke(self, Payload, **_):  # noqa: N803 (the client's name)
                self.event = json.loads(Payload)
                return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(answer).encode())}

        client, poller = Client(), Poller(nothing)
        poller.run(record(1))
        result = streams.Windowed(client, poller).invoke(FunctionName="f", Payload=json.dumps({"Records": [1]}))
        self.assertEqual({"Records": [1], "shardId": "shard"}, client.event)
        self.assertEqual(answer, json.loads(result["Payload"].read()))
        return result.get("FunctionError")

    def test_state(self):
        self.assertIsNone(self.invoke({"state": {"a": "b"}, "batchItemFailures": []}))

    def test_without_state(self):
        self.assertEqual("Unhandled", self.invoke({"batchItemFailures": []}))


class Work(unittest.TestCase):
    def test_binary(self):
        poller = Poller(nothing)
        events = poller.transform_into_events(
            [record(1, NewImage={"packed": {"B": b"\x1f\x8b"}, "version": {"N": "1"}}, OldImage={"body": {"S": "{}"}})], "shard")
        shown = events[0]["dynamodb"]
        self.assertEqual([shown["NewImage"], shown["OldImage"], shown["Keys"]["pk"]],
                         [{"packed": {"B": "H4s="}, "version": {"N": "1"}}, {"body": {"S": "{}"}}, {"S": "C#acme"}])
        json.dumps(events)

    def test_halves(self):
        poller = Poller(broken_by(3), MaximumRetryAttempts=1)
        poller.halves = True
        poller.run(*map(record, range(1, 5)))
        self.assertEqual(poller.batches, [[1, 2, 3, 4], [1, 2], [3, 4], [3], [3], [4]])
        self.assertEqual(poller.given_up, [("RetryAttemptsExhausted", [3])])

    def test_whole(self):
        poller = Poller(broken_by(2), MaximumRetryAttempts=1)
        poller.run(record(1), record(2))
        self.assertEqual(poller.batches, [[1, 2], [1, 2]])
        self.assertEqual(poller.given_up, [("RetryAttemptsExhausted", [1, 2])])

    def test_reported(self):
        poller = Poller(reporting(2), MaximumRetryAttempts=1)
        poller.run(*map(record, range(1, 4)))
        self.assertEqual(poller.batches, [[1, 2, 3], [2, 3], [2, 3]])
        self.assertEqual(poller.given_up, [("RetryAttemptsExhausted", [2, 3])])

    def test_throttled(self):
        """A throttle is repeated, and counts neither as a try nor as a reason to halve."""
        throttles = ["TooManyRequestsException"] * 3
        fails = broken_by(1)

        def fail(numbers):
            if throttles:
                raise ClientError({"Error": {"Code": throttles.pop()}}, "Invoke")
            fails(numbers)

        poller = Poller(fail, MaximumRetryAttempts=1)
        poller.run(record(1), record(2))
        self.assertEqual(poller.batches, [[1, 2]] * 5)
        self.assertEqual(poller.given_up, [("RetryAttemptsExhausted", [1, 2])])

    def test_refused(self):
        def fail(_):
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "Invoke")

        with self.assertRaises(ClientError):
            Poller(fail).run(record(1))

    def test_age(self):
        poller = Poller(nothing, MaximumRecordAgeInSeconds=60)
        poller.run(record(1, age=100), record(2, age=5))
        self.assertEqual((poller.batches, poller.given_up), ([[2]], [("RecordAgeExceeded", [1])]))


class Filters(unittest.TestCase):
    """Applies the template's filters to changes. The emulator reads the patterns in use as AWS does."""

    def passed(self, **change):
        with open(GOLDEN, encoding="utf-8") as file:
            resources = json.load(file)["Resources"].values()
        filters = next(r["Properties"]["FilterCriteria"]["Filters"] for r in resources
                       if r["Type"] == "AWS::Lambda::EventSourceMapping" and "FilterCriteria" in r["Properties"])
        poller = Poller(nothing, filters)
        poller.run(record(1, **change))
        return poller.batches == [[1]]

    def test_changes(self):
        goal, quiet = {"entity": {"S": "goal"}}, {"quiet": {"BOOL": True}}
        expires = {"expires": {"N": "1"}}
        self.assertTrue(self.passed(NewImage=goal))
        self.assertTrue(self.passed(event="MODIFY", OldImage=goal, NewImage=goal))
        self.assertTrue(self.passed(event="REMOVE", OldImage=goal))
        self.assertTrue(self.passed(event="MODIFY", OldImage=goal | expires, NewImage=goal | quiet))
        self.assertFalse(self.passed(NewImage=goal | quiet))
        self.assertFalse(self.passed(NewImage={"entity": {"S": "login"}}))
        self.assertFalse(self.passed(event="REMOVE", OldImage=goal | {"gone": {"BOOL": True}}))
        self.assertFalse(self.passed(event="MODIFY", OldImage=goal, NewImage=goal | quiet))
