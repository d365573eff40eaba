import unittest

from emulator import policy

STAGE = "arn:aws:execute-api:eu-central-1:000000000000:api/live"
HEALTH = STAGE + "/GET/companies/acme/mission-control/health"


ROLE = "arn:aws:iam::000000000000:role/ticker"


def document(*statements):
    return {"Version": "2012-10-17", "Statement": list(statements)}


def statement(effect="Allow", resource=HEALTH, action="execute-api:Invoke", **more):
    return {"Effect": effect, "Action": action, "Resource": resource} | more


def decide(*statements, action="execute-api:Invoke", **keys):
    return policy.decide([document(*statements)], policy.Request(action, HEALTH, keys))


class Decide(unittest.TestCase):
    def test_matching(self):
        for resource, verdict in {
            HEALTH: policy.ALLOWED,
            STAGE + "/*/companies/acme/*": policy.ALLOWED,  # a star matches slashes
            STAGE + "/G?T/companies/acme/mission-control/*": policy.ALLOWED,
            STAGE + "/*/companies/acme": policy.SILENT,  # the pattern must match the whole resource
            STAGE + "/*/companies/other/*": policy.SILENT,
            STAGE + "/*/companies/acm[e]/*": policy.SILENT,  # brackets match literally
            STAGE + "/*/COMPANIES/acme/*": policy.SILENT,
        }.items():
            with self.subTest(resource):
                self.assertEqual(decide(statement(resource=resource)), verdict)

    def test_several(self):
        allow, deny = statement(resource=["nothing", STAGE + "/*"]), statement("Deny", STAGE + "/*/health")
        self.assertEqual(decide(allow, deny), policy.DENIED)
        self.assertEqual(decide(deny, allow), policy.DENIED)
        self.assertEqual(decide(allow), policy.ALLOWED)
        self.assertEqual(decide(), policy.SILENT)

    def test_action(self):
        for action, verdict in {
            "execute-api:*": policy.ALLOWED, "*": policy.ALLOWED, "EXECUTE-API:invoke": policy.ALLOWED, "lambda:*": policy.SILENT,
        }.items():
            with self.subTest(action):
                self.assertEqual(decide(statement(action=action)), verdict)

    def test_inverse(self):
        everything_but = {"Effect": "Allow", "NotAction": ["lambda:*", "sqs:SendMessage"], "NotResource": "arn:aws:sqs:*"}
        self.assertEqual(decide(everything_but), policy.ALLOWED)
        self.assertEqual(decide(everything_but, action="sqs:SendMessage"), policy.SILENT)
        self.assertEqual(decide(everything_but | {"NotResource": STAGE + "/*"}), policy.SILENT)

    def test_condition(self):
        only = statement(Condition={"StringEquals": {"aws:RequestedRegion": "eu-central-1"}})
        self.assertEqual(decide(only, **{"aws:requestedregion": ["eu-central-1"]}), policy.ALLOWED)
        self.assertEqual(decide(only, **{"aws:requestedregion": ["us-east-1"]}), policy.SILENT)
        self.assertEqual(decide(statement(), only | {"Effect": "Deny"}, **{"aws:requestedregion": ["us-east-1"]}), policy.ALLOWED)

    def test_several_documents(self):
        deny = document(statement("Deny"))
        request = policy.Request("execute-api:Invoke", HEALTH)
        self.assertEqual(policy.decide([document(statement()), deny], request), policy.DENIED)
        self.assertEqual(policy.decide([document(), document(statement())], request), policy.ALLOWED)

    def test_malformed(self):
        for wrong in (None, {}, {"Statement": [{}]}, document(statement("allow")), document(statement(resource=STAGE + "/${aws:username}")),
                      document(statement(Condition={"StringEquals": {"aws:SourceIp": "10.0.0.1"}}))):
            with self.subTest(wrong), self.assertRaises(policy.Malformed):
                policy.decide([wrong], policy.Request("execute-api:Invoke", HEALTH))


class DecideFor(unittest.TestCase):
    """Resources' policies, which name principals."""

    def test_principals(self):
        for principal, verdict in (
            ("*", policy.ALLOWED), ({"AWS": "*"}, policy.ALLOWED), ({"AWS": [ROLE]}, policy.ALLOWED),
            ({"AWS": "arn:aws:iam::000000000000:root"}, policy.DELEGATED), ({"AWS": "000000000000"}, policy.DELEGATED),
            ({"AWS": ROLE + "2"}, policy.SILENT), ({"AWS": "arn:aws:iam::111111111111:root"}, policy.SILENT),
            ({"Service": "sqs.amazonaws.com"}, policy.SILENT),
        ):
            with self.subTest(principal):
                allow, deny = statement(Principal=principal), statement("Deny", Principal=principal)
                request = policy.Request("execute-api:Invoke", HEALTH)
                self.assertEqual(policy.decide_for(document(allow), ROLE, request), verdict)
                denied = policy.SILENT if verdict == policy.SILENT else policy.DENIED
                self.assertEqual(policy.decide_for(document(allow, deny), ROLE, request), denied)

    def test_no_principal(self):
        with self.assertRaises(policy.Malformed):
            policy.decide_for(document(statement()), ROLE, policy.Request("execute-api:Invoke", HEALTH))
