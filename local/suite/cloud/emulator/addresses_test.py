import unittest

from emulator.addresses import served

ENDPOINT = "http://127.0.0.1:4566"


class Served(unittest.TestCase):
    def test_generated(self):
        self.assertEqual(ENDPOINT + "/_aws/execute-api/abc1/live", served("https://abc1.execute-api.127.0.0.1:4566/live", ENDPOINT))
        self.assertEqual(ENDPOINT + "/_aws/execute-api/abc1", served("https://abc1.execute-api.us-east-1.amazonaws.com", ENDPOINT))

    def test_other(self):
        for text in ("https://api.example.com/live", "arn:aws:execute-api:us-east-1:000000000000:abc1/live", "see https://a.execute-api.x/live", ""):
            self.assertEqual(text, served(text, ENDPOINT))
