"""Chains of invocations through SQS, which Lambda ends as a loop. LocalStack keeps the trace header of a message and does
nothing with it.

Lambda counts in the header's Lineage how often each function was invoked in a chain. The SDK passes the header on, and so
does SQS, however long a message is delayed. A stream of DynamoDB begins a new chain. Lambda drops about the 17th invocation of
a function: its messages stay in the queue until they are dead letters, and the metric RecursiveInvocationsDropped counts it.
https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html

AWS does not document which chain a batch continues, so here it continues the chains of all of its messages. The setting
RecursiveLoop is not read: every function has the default, Terminate.
"""

import hashlib
import json
import threading
from pathlib import Path

LONGEST = 16  # invocations of a function in a chain

_HEADER = "AWSTraceHeader"


class Chains:
    """Continues chains, and notes the invocations that it drops in a file."""

    def __init__(self, file: Path):
        self._file, self._lock = file, threading.Lock()

    def follow(self, function: str, event: bytes, trace: str) -> str | None:
        """Returns the trace header of an invocation, or None if Lambda would drop it."""
        counts = counts_of(event)
        own = name_of(function)
        counts[own] = counts.get(own, 0) + 1
        if counts[own] > LONGEST:
            with self._lock, open(self._file, "a", encoding="utf-8") as file:
                file.write(json.dumps({"function": function, "event": event.decode("utf-8", "replace")[:1000]}) + "\n")
            return None
        kept = [part for part in trace.split(";") if part and not part.startswith("Lineage=")]
        return ";".join([*kept, "Lineage=" + "|".join(f"{name}:{count}" for name, count in sorted(counts.items()))])


def name_of(function: str) -> str:
    """Returns how a lineage names a function."""
    return hashlib.sha256(function.encode()).hexdigest()[:8]


def counts_of(event: bytes) -> dict[str, int]:
    """Returns the invocations of each function that led to an event's messages. An event that SQS does not send has none."""
    counts: dict[str, int] = {}
    if b'"AWSTraceHeader"' not in event:
        return counts
    records = json.loads(event).get("Records", [])
    for record in records:
        if record.get("eventSource") != "aws:sqs":
            continue
        for part in record.get("attributes", {}).get(_HEADER, "").split(";"):
            for entry in part.removeprefix("Lineage=").split("|") if part.startswith("Lineage=") else []:
                name, _, count = entry.rpartition(":")
                counts[name] = max(counts.get(name, 0), int(count))
    return counts
