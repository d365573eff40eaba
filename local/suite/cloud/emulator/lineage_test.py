import json
import tempfile
import unittest
from pathlib import Path

from emulator.lineage import Chains, counts_of, name_of

ROOT = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0"


def event(*headers, source="aws:sqs"):
    return json.dumps({"Records": [
        {"eventSource": source, "body": "{}", "attributes": {"AWSTraceHeader": h} if h else {}} for h in headers
    ]}).encode()


class LineageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "dropped.jsonl")
        self.chains = Chains(self.file)

    def test_chain(self):
        """A worker that sends to its own queue is dropped at the 17th invocation."""
        header = self.chains.follow("dispatcher", event("", source="aws:dynamodb"), ROOT)
        for n in range(1, 17):
            header = self.chains.follow("retrier", event(header), ROOT)
            self.assertEqual(counts_of(event(header)), {name_of("dispatcher"): 1, name_of("retrier"): n})
        self.assertFalse(self.file.exists())
        self.assertIsNone(self.chains.follow("retrier", event(header), ROOT))
        (line,) = self.file.read_text(encoding="utf-8").splitlines()
        self.assertEqual(json.loads(line)["function"], "retrier")

    def test_header(self):
        """The invocation keeps the rest of its header."""
        self.assertEqual(self.chains.follow("syncer", event(""), ROOT), f"{ROOT};Lineage={name_of('syncer')}:1")
        self.assertEqual(self.chains.follow("syncer", b"{}", ""), f"Lineage={name_of('syncer')}:1")

    def test_batch(self):
        """A batch continues the longest chain of its messages."""
        long, short = f"Lineage={name_of('retrier')}:15", f"{ROOT};Lineage={name_of('retrier')}:2|a:4"
        header = self.chains.follow("retrier", event("", short, long), ROOT)
        self.assertEqual(counts_of(event(header)), {name_of("retrier"): 16, "a": 4})
        self.assertIsNone(self.chains.follow("retrier", event(header, ""), ROOT))

    def test_stream(self):
        """A stream begins a new chain."""
        self.assertEqual(counts_of(event(f"{ROOT};Lineage=a:16", source="aws:dynamodb")), {})

    def test_body(self):
        """A body that holds the attribute's name is no header."""
        body = json.dumps({"Records": [{"eventSource": "aws:sqs", "body": '"AWSTraceHeader"', "attributes": {}}]}).encode()
        self.assertEqual(counts_of(body), {})


if __name__ == "__main__":
    unittest.main()
