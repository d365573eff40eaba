import unittest

from emulator import template

CONTEXT = {"requestId": "7", "error": {"message": 'say "no"', "responseType": "UNAUTHORIZED"}}


class Body(unittest.TestCase):
    def test_variables(self):
        for text, filled in {
            '{"instance":"urn:uuid:$context.requestId"}': '{"instance":"urn:uuid:7"}',
            '{"message":$context.error.messageString}': '{"message":"say \\"no\\""}',
            "$context.error.responseType.": "UNAUTHORIZED.",
            "[$context.nothing][$context.error.nothing][$context.requestId.nothing]": "[][][]",
            "$stageVariables.x costs $5": "$stageVariables.x costs $5",
        }.items():
            with self.subTest(text):
                self.assertEqual(template.body(text, CONTEXT), filled)


class Headers(unittest.TestCase):
    def test_parameters(self):
        self.assertEqual(
            template.headers({
                "gatewayresponse.header.Content-Type": "'application/problem+json'",
                "gatewayresponse.header.WWW-Authenticate": "'Bearer error=\"invalid_token\"'",
                "gatewayresponse.header.X-Request-Id": "context.requestId",
                "gatewayresponse.header.X-Of-The-Request": "method.request.header.X",
            }, CONTEXT),
            {"Content-Type": "application/problem+json", "WWW-Authenticate": 'Bearer error="invalid_token"', "X-Request-Id": "7"},
        )
