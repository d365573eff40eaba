"""Event source mappings of DynamoDB streams, with what LocalStack omits: bisecting batches, the age of records, the shard's name in
tumbling windows, and resuming a shard. A throttled batch is tried again and counts as no try, because it did not reach the function.

Batches of a shard are processed one after the other: a parallelization factor is accepted and has no effect.
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html
"""

import base64
import io
import json
import logging
import time
from collections import deque
from dataclasses import dataclass

from botocore.exceptions import ClientError
from localstack.services.lambda_.event_source_mapping import esm_worker_factory
from localstack.services.lambda_.event_source_mapping.event_processor import BatchFailureError, PartialBatchFailureError
from localstack.services.lambda_.event_source_mapping.pollers.dynamodb_poller import DynamoDBPoller
from localstack.services.lambda_.event_source_mapping.pollers.poller import get_batch_item_failures

LOG = logging.getLogger(__name__)

_LONGEST_PAUSE = 5  # seconds between attempts
_THROTTLED = 0.1  # seconds until a throttled batch is tried again


def patch() -> None:
    esm_worker_factory.DynamoDBPoller = Poller
    build = esm_worker_factory.EsmWorkerFactory.get_esm_worker

    def informed(self):
        worker = build(self)
        if isinstance(worker.poller, Poller):
            worker.poller.halves = bool(self.esm_config.get("BisectBatchOnFunctionError"))
            if self.esm_config.get("TumblingWindowInSeconds"):
                sender = worker.poller.processor.sender
                sender.target_client = Windowed(sender.target_client, worker.poller)
        return worker

    esm_worker_factory.EsmWorkerFactory.get_esm_worker = informed


class Windowed:
    """Invokes a function as Lambda does in a tumbling window: the event names its shard, and an answer without a state is a failure.
    The event at the end of a window is left out."""

    def __init__(self, client, poller):
        self._client, self._poller = client, poller

    def invoke(self, Payload, **rest):  # noqa: N803 (the client's name)
        result = self._client.invoke(Payload=json.dumps(json.loads(Payload) | {"shardId": self._poller.shard}), **rest)
        answer = result["Payload"].read()
        result["Payload"] = io.BytesIO(answer)
        if not result.get("FunctionError") and "state" not in (json.loads(answer) or {}):
            result["FunctionError"] = "Unhandled"
        return result


def _shown(value: dict) -> dict:
    return {kind: base64.b64encode(v).decode() if isinstance(v, bytes) else v for kind, v in value.items()}


@dataclass
class Batch:
    events: list[dict]
    tries: int = 0


class Poller(DynamoDBPoller):
    halves = False
    shard = ""  # of the current batch

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._last: dict[str, str] = {}  # sequence number by shard

    def initialize_shards(self):
        """Resumes each shard after its last record. LocalStack restarts every shard when one has ended."""
        shards = super().initialize_shards()
        for shard in shards.keys() & self._last.keys():
            shards[shard] = self.source_client.get_shard_iterator(
                StreamArn=self.source_arn, ShardId=shard, ShardIteratorType="AFTER_SEQUENCE_NUMBER",
                SequenceNumber=self._last[shard])["ShardIterator"]
        return shards

    def transform_into_events(self, records, shard_id):
        """Shows binaries in base64, as Lambda does. LocalStack replaces them by null."""
        events = super().transform_into_events(records, shard_id)
        for event in events:
            change = event["dynamodb"]
            event["dynamodb"] = change | {
                image: {name: _shown(value) for name, value in change[image].items()}
                for image in ("Keys", "OldImage", "NewImage") if image in change}
        return events

    def get_approximate_arrival_time(self, record):
        """Returns the record's creation time. LocalStack uses the current time."""
        return record["dynamodb"].get("ApproximateCreationDateTime", time.time())

    def forward_events_to_target(self, shard_id, records):
        self.shard = shard_id
        self._last[shard_id] = records[-1]["dynamodb"]["SequenceNumber"]
        events = self.add_source_metadata(self.filter_events(self.transform_into_events(records, shard_id)))
        batches = deque([Batch(events)] if events else [])
        while batches and not self._is_shutdown.is_set():
            batch = batches.popleft()
            try:
                left = self._work(shard_id, batch)
            except ClientError as error:
                if error.response["Error"]["Code"] != "TooManyRequestsException":
                    raise
                left = [batch]  # a throttle is no try: the batch did not reach the function
                self._is_shutdown.wait(_THROTTLED)
            batches.extendleft(reversed(left))
            if left and left[0].tries > 0:
                self._is_shutdown.wait(min(0.1 * 2 ** left[0].tries, _LONGEST_PAUSE))

    def _work(self, shard_id, batch: Batch) -> list[Batch]:
        """Processes a batch and returns the batches that remain, in order."""
        limit = self.stream_parameters.get("MaximumRecordAgeInSeconds", -1)
        if limit > 0:
            batch.events, old = self.bisect_events_by_record_age(limit, batch.events)
            self._give_up(shard_id, old, "RecordAgeExceeded", batch.tries, {})
            if not batch.events:
                return []
        try:
            self.processor.process_events_batch(batch.events)
            return []
        except PartialBatchFailureError as error:
            left, reason = self._from_first_failure(batch, error), error.error
        except BatchFailureError as error:
            left, reason = self._again(batch), error.error
        if left[0].tries > self.stream_parameters.get("MaximumRetryAttempts", -1) >= 0:
            self._give_up(shard_id, left[0].events, "RetryAttemptsExhausted", left[0].tries, reason)
            return left[1:]
        return left

    def _from_first_failure(self, batch: Batch, error: PartialBatchFailureError) -> list[Batch]:
        """Returns the batch from its first reported record; the records before it have succeeded."""
        numbers = {self.get_sequence_number(event) for event in batch.events}
        failures = get_batch_item_failures(error.partial_failure_payload, numbers)
        if not failures:  # the function reported records outside the batch
            return self._again(batch)
        _, left = self.bisect_events(min(failures, key=int), batch.events)
        if len(left) < len(batch.events):
            return [Batch(left)]
        return [Batch(left, batch.tries + 1)]

    def _again(self, batch: Batch) -> list[Batch]:
        """Returns two halves of the batch; halving counts as no attempt. Returns one record, or a batch without bisection, whole."""
        middle = len(batch.events) // 2
        if self.halves and middle:
            return [Batch(batch.events[:middle], batch.tries), Batch(batch.events[middle:], batch.tries)]
        return [Batch(batch.events, batch.tries + 1)]

    def _give_up(self, shard_id, events, condition, tries, error) -> None:
        if not events:
            return
        LOG.warning("%s: discarded %d records of %s: %s", condition, len(events), self.source_arn, error)
        self.send_events_to_dlq(shard_id, events, context=self.processor.generate_event_failure_context(
            abort_condition=condition, error=error, attempts_count=tries, partner_resource_arn=None))
