import json
import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from localstack.aws.api import CommonServiceException

from emulator import policy, rights

GOLDEN = os.path.join(os.path.dirname(__file__), "../../../../infra/testdata/Orgops.template.json")
ROLE = "arn:aws:iam::000000000000:role/it"


def resolved(value):
    """Replaces a template's functions: a reference becomes the logical id, an attribute ID.Attribute."""
    match value:
        case {"Ref": name}:
            return {"AWS::Partition": "aws", "AWS::AccountId": "000000000000", "AWS::Region": "eu-central-1"}.get(name, name)
        case {"Fn::GetAtt": [name, attribute]}:
            return f"{name}.{attribute}"
        case {"Fn::Join": [between, parts]}:
            return between.join(str(resolved(part)) for part in parts)
        case dict():
            return {name: resolved(v) for name, v in value.items()}
        case list():
            return [resolved(v) for v in value]
    return value


with open(GOLDEN, encoding="utf-8") as file:
    RESOURCES = resolved(json.load(file)["Resources"])


def named(start, kind):
    """Returns the logical id and the properties of the template's only resource of a kind whose id starts so."""
    (found,) = [(name, r["Properties"]) for name, r in RESOURCES.items() if r["Type"] == kind and name.startswith(start)]
    return found


def of(function):
    return named(f"Events{function}RoleDefaultPolicy", "AWS::IAM::Policy")[1]["PolicyDocument"]


MAIN = named("DataMain", "AWS::DynamoDB::Table")[0] + ".Arn"
WRAPPING, WRAPPING_KEY = named("DataWrapping", "AWS::KMS::Key")
AT_REST, AT_REST_KEY = named("DataAtRest", "AWS::KMS::Key")


def put(partition):
    return policy.Request("dynamodb:PutItem", MAIN, {"dynamodb:leadingkeys": [partition], "dynamodb:enclosingoperation": []})


def decrypt(key, **keys):
    known = {"kms:calleraccount": ["000000000000"], "kms:viaservice": [], "kms:encryptioncontextkeys": []}
    return policy.Request("kms:Decrypt", f"{key}.Arn", known | {"kms:" + name: value for name, value in keys.items()})


def refused(document, *requests, own=None):
    """Returns the action and the reason of the refusal by a role with one policy; own is the resources' policy."""
    found = rights.refusal(rights.Role(ROLE, "session", [document]), list(requests), lambda _: own)
    return found and (found[0].action, found[1])


class Deployed(unittest.TestCase):
    """Decides with the policies of the template."""

    def test_timers(self):
        """Only the functions that set timers may write them."""
        self.assertIsNone(refused(of("ticker"), put("C#acme"), put("DUE#1")))
        self.assertEqual(refused(of("rotator"), put("DUE#1")),
                         ("dynamodb:PutItem", "because no identity-based policy allows the dynamodb:PutItem action"))

    def test_removed(self):
        """A role without one of its statements is refused what the statement allows."""
        document = of("ticker")
        left = [s for s in document["Statement"] if s["Action"] != "dynamodb:PutItem"]
        self.assertEqual(len(left), len(document["Statement"]) - 1)
        self.assertEqual(refused({"Statement": left}, put("C#acme"))[0], "dynamodb:PutItem")

    def test_company(self):
        """A data key is opened for a named company only."""
        own = WRAPPING_KEY["KeyPolicy"]
        self.assertIsNone(refused(of("dispatcher"), decrypt(WRAPPING, encryptioncontextkeys=["company"]), own=own))
        for keys in ([], ["user"]):
            self.assertEqual(refused(of("dispatcher"), decrypt(WRAPPING, encryptioncontextkeys=keys), own=own)[0], "kms:Decrypt")
        self.assertEqual(refused(of("ticker"), decrypt(WRAPPING, encryptioncontextkeys=["company"]), own=own)[0], "kms:Decrypt")

    def test_at_rest(self):
        """The tables' key serves any role of the account, through DynamoDB only."""
        own = AT_REST_KEY["KeyPolicy"]
        self.assertIsNone(refused(of("ticker"), decrypt(AT_REST, viaservice=["dynamodb.eu-central-1.amazonaws.com"]), own=own))
        self.assertEqual(refused(of("ticker"), decrypt(AT_REST), own=own)[0], "kms:Decrypt")

    def test_transport(self):
        """A queue's own policy denies unencrypted requests."""
        own = named("EventsSyncsPolicy", "AWS::SQS::QueuePolicy")[1]["PolicyDocument"]
        queue = own["Statement"][0]["Resource"]
        for secure, want in (("true", None), ("false", ("sqs:SendMessage", "with an explicit deny in a resource-based policy"))):
            self.assertEqual(refused(of("syncer"), policy.Request("sqs:SendMessage", queue, {"aws:securetransport": [secure]}), own=own), want)


class Refusal(unittest.TestCase):
    def test_key_policy(self):
        """A key's own policy decides whether the role's policies count."""
        allow = {"Statement": [{"Effect": "Allow", "Action": "kms:*", "Resource": "*"}]}
        for principal, want in (
            ("arn:aws:iam::000000000000:root", None), (ROLE, None),
            (ROLE + "2", ("kms:Decrypt", "because no resource-based policy allows the kms:Decrypt action")),
        ):
            own = {"Statement": [{"Effect": "Allow", "Action": "kms:*", "Resource": "*", "Principal": {"AWS": principal}}]}
            self.assertEqual(refused(allow, decrypt("key"), own=own), want)
        self.assertEqual(refused(allow, decrypt("key"))[0], "kms:Decrypt")

    def test_unknown(self):
        """What the emulator cannot evaluate is refused."""
        allow = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}]}
        self.assertIn("cannot evaluate: condition key aws:SourceIp", refused(allow, put("C#acme"))[1])


class Guard(unittest.TestCase):
    """Passes requests of LocalStack's chain, or refuses them in the form of AWS."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "refusals.jsonl")
        self.guard = rights.Guard(self.file)
        allow = {"Statement": [{"Effect": "Allow", "Action": "xray:PutTraceSegments", "Resource": "*"}]}
        self.caller = rights.Role(ROLE, "arn:aws:sts::000000000000:assumed-role/it/one", [allow])
        before, rights._caller = rights._caller, lambda _: self.caller
        self.addCleanup(setattr, rights, "_caller", before)

    def call(self, service, operation, internal=False, **parameters):
        self.guard(None, SimpleNamespace(
            service=SimpleNamespace(service_name=service), operation=SimpleNamespace(name=operation), service_request=parameters,
            account_id="000000000000", region="eu-central-1", request=SimpleNamespace(method="POST", path="/"), is_internal_call=internal), None)

    def test_allowed(self):
        self.call("xray", "PutTraceSegments")
        self.call("logs", "CreateLogGroup", internal=True, logGroupName="g")
        self.caller = None  # an operator
        self.call("iam", "DeleteRole")
        self.assertFalse(self.file.exists())

    def test_refused(self):
        for service, operation, status in (("xray", "GetTraceSummaries", 400), ("iam", "DeleteRole", 400), ("sqs", "ListQueues", 403)):
            with self.subTest(service), self.assertRaises(CommonServiceException) as raised:
                self.call(service, operation)
            error = raised.exception
            self.assertEqual((error.code, error.status_code), ("AccessDeniedException", status))
            self.assertIn(f"{self.caller.session} is not authorized to perform: {service}:{operation}", str(error))
        lines = [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(line["role"], line["action"]) for line in lines],
                         [("it", "xray:GetTraceSummaries"), ("it", "iam:DeleteRole"), ("it", "sqs:ListQueues")])
