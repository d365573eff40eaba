import unittest

from emulator import policy

STAGE = "arn:aws:execute-api:eu-central-1:000000000000:api/live"
HEALTH = STAGE + "/GET/companies/acme/mission-control/health"


def document(*statements):
    return {"Version": "2012-10-17", "Statement": list(statements)}


def statement(effect="Allow", resource=HEALTH, action="execute-api:Invoke", **more):
    return {"Effect": effect, "Action": action, "Resource": resource} | more


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
                self.assertEqual(policy.decide(document(statement(resource=resource)), HEALTH), verdict)

    def test_several(self):
        allow, deny = statement(resource=["nothing", STAGE + "/*"]), statement("Deny", STAGE + "/*/health")
        self.assertEqual(policy.decide(document(allow, deny), HEALTH), policy.DENIED)
        self.assertEqual(policy.decide(document(deny, allow), HEALTH), policy.DENIED)
        self.assertEqual(policy.decide(document(allow), HEALTH), policy.ALLOWED)
        self.assertEqual(policy.decide(document(), HEALTH), policy.SILENT)

    def test_action(self):
        for action, verdict in {
            "execute-api:*": policy.ALLOWED, "*": policy.ALLOWED, "EXECUTE-API:invoke": policy.ALLOWED, "lambda:*": policy.SILENT,
        }.items():
            with self.subTest(action):
                self.assertEqual(policy.decide(document(statement(action=action)), HEALTH), verdict)

    def test_malformed(self):
        for wrong in (None, {}, {"Statement": [{}]}, document(statement("allow")), document(statement(Condition={}))):
            with self.subTest(wrong), self.assertRaises(policy.Malformed):
                policy.decide(wrong, HEALTH)
