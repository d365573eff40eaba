import unittest

from emulator import condition

# What AWS's documents say of each operator, with the request's values of the key aws:TagKeys.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
TABLE = [
    # operator, policy's values, request's values, whether it holds
    ("StringEquals", "a", ["a"], True),
    ("StringEquals", ["b", "a"], ["a"], True),  # a logical OR
    ("StringEquals", "a", ["A"], False),
    ("StringEquals", "a*", ["ab"], False),
    ("StringEquals", "a", [], False),
    ("StringEqualsIfExists", "a", [], True),
    ("StringEqualsIfExists", "a", ["b"], False),
    ("StringEqualsIgnoreCase", "a", ["A"], True),
    ("StringNotEquals", ["a", "b"], ["b"], False),  # a logical NOR
    ("StringNotEquals", ["a", "b"], ["c"], True),
    ("StringNotEquals", "a", [], True),
    ("StringLike", "C#*", ["C#acme"], True),
    ("StringLike", "C#*", ["c#acme"], False),
    ("StringLike", "C#*", ["L#C#"], False),
    ("StringNotLike", "C#*", ["C#acme"], False),
    ("ArnLike", "arn:aws:sqs:*:1:q?", ["arn:aws:sqs:eu-west-1:1:q1"], True),
    ("Bool", False, ["true"], False),
    ("Bool", "true", ["true"], True),
    ("Bool", "false", [], False),
    ("Null", "true", [], True),
    ("Null", "true", ["a"], False),
    ("Null", False, ["a"], True),
    ("Null", "false", [], False),
    ("ForAllValues:StringEquals", ["a", "b"], ["a", "b"], True),
    ("ForAllValues:StringEquals", ["a", "b"], ["a", "c"], False),
    ("ForAllValues:StringLike", "a*", ["a1", "a2"], True),
    ("ForAllValues:StringLike", "a*", [], True),  # also without the key: add Null to refuse that
    ("ForAllValues:StringNotEquals", "a", ["b", "c"], True),
    ("ForAllValues:StringNotEquals", "a", ["b", "a"], False),
    ("ForAnyValue:StringEquals", ["a", "b"], ["c", "a"], True),
    ("ForAnyValue:StringEquals", ["a", "b"], ["c"], False),
    ("ForAnyValue:StringEquals", "a", [], False),
    ("ForAnyValue:StringNotEquals", "a", ["a", "b"], True),
    ("ForAnyValue:StringNotEquals", "a", [], False),
    ("ForAnyValue:StringEqualsIfExists", "a", [], True),
]


class Holds(unittest.TestCase):
    def test_operators(self):
        for operator, expected, values, want in TABLE:
            with self.subTest(operator=operator, expected=expected, values=values):
                self.assertIs(condition.holds({operator: {"aws:TagKeys": expected}}, {"aws:tagkeys": values}), want)

    def test_all(self):
        """All operators and all keys must hold."""
        keys = {"a": ["1"], "b": ["2"]}
        self.assertTrue(condition.holds({}, keys))
        self.assertTrue(condition.holds({"StringEquals": {"a": "1", "B": "2"}, "Null": {"a": "false"}}, keys))
        self.assertFalse(condition.holds({"StringEquals": {"a": "1", "b": "1"}}, keys))
        self.assertFalse(condition.holds({"StringEquals": {"a": "1"}, "Null": {"b": "true"}}, keys))

    def test_partition(self):
        """The condition of the service's roles: every key of the partition, and at least one."""
        conditions = {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["C#*", "SYSTEM"]}, "Null": {"dynamodb:LeadingKeys": "false"},
        }
        for values, want in ((["C#a"], True), (["C#a", "SYSTEM"], True), (["C#a", "DUE#1"], False), ([], False)):
            with self.subTest(values):
                self.assertIs(condition.holds(conditions, {"dynamodb:leadingkeys": values}), want)

    def test_malformed(self):
        for conditions in (
            {"StringEquals": {"unknown": "1"}}, {"StringIs": {"a": "1"}}, {"ForSomeValues:StringEquals": {"a": "1"}},
            {"StringEquals": {"many": "1"}}, {"Null": {"a": "yes"}}, {"StringLike": {"a": "${aws:username}"}},
            {"Null": {"a": "true"}, "NumericLessThan": {"b": "2"}},  # although the first does not hold
        ):
            with self.subTest(conditions), self.assertRaises(condition.Malformed):
                condition.holds(conditions, {"a": ["1"], "b": ["2"], "many": ["1", "2"]})
