import copy
import unittest

from emulator import document

_GOOD = {
    "openapi": "3.0.1",
    "components": {"securitySchemes": {"tokens": {"type": "apiKey"}}},
    "paths": {"/a/{b}": {"get": {
        "responses": {}, "security": [{"tokens": []}],
        "x-amazon-apigateway-integration": {"type": "aws_proxy", "httpMethod": "POST", "uri": "u", "timeoutInMillis": 29000},
    }}},
}


def changed(change) -> list[str]:
    other = copy.deepcopy(_GOOD)
    change(other, other["paths"]["/a/{b}"]["get"])
    return document.problems(other)


class TestProblems(unittest.TestCase):
    def test_none(self):
        self.assertEqual(document.problems(_GOOD), [])

    def test_each(self):
        integration = "x-amazon-apigateway-integration"
        for words, change in {
            "OpenAPI 3.0": lambda d, _: d.update(openapi="3.1.0"),
            "bytes": lambda d, _: d.update(info="x" * 7_000_000),
            "responses is missing": lambda _, o: o.pop("responses"),
            "method POST": lambda _, o: o[integration].pop("httpMethod"),
            "29 s": lambda _, o: o[integration].update(timeoutInMillis=30000),
            "scheme other": lambda _, o: o.update(security=[{"other": []}]),
            "ignores this method": lambda d, o: d["paths"].update({"/x": {"trace": o}}),
            "no step": lambda d, o: d["paths"].update({"/a//b": {"get": o}}),
            "302 resources": lambda d, o: d["paths"].update({f"/{n}": {"get": o} for n in range(299)}),
        }.items():
            found = changed(change)
            self.assertEqual(len(found), 1, f"{words}: {found}")
            self.assertIn(words, found[0])
