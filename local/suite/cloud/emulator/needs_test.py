import unittest

from emulator import needs

TABLE_ARN = "arn:aws:dynamodb:eu-central-1:000000000000:table/main"
KEY_ARN = "arn:aws:kms:eu-central-1:000000000000:key/1"


class Account(needs.Account):
    def __init__(self, at_rest=""):
        super().__init__("000000000000", "eu-central-1")
        self.at_rest = at_rest

    def table(self, name):
        return {"main": needs.Table({"": "pk", "byOwner": "owner"}, self.at_rest), "other": needs.Table({"": "id"})}[name]

    def secret(self, name):
        return f"arn:aws:secretsmanager:eu-central-1:000000000000:secret:{name}-AbCdEf"

    def sealed_by(self, ciphertext):
        return ciphertext.decode()


def of(service, operation, at_rest="", method="POST", path="/", **parameters):
    return needs.of(needs.Call(service, operation, parameters, method, path), Account(at_rest))


def item(pk, **more):
    return {"pk": {"S": pk}, "sk": {"S": "X"}} | more


class DynamoDB(unittest.TestCase):
    def check(self, want, operation, **parameters):
        got = [(r.action, r.resource, r.keys["dynamodb:leadingkeys"]) for r in of("dynamodb", operation, **parameters)]
        self.assertEqual(got, want)

    def test_single(self):
        for operation, part in (("GetItem", "Key"), ("PutItem", "Item"), ("UpdateItem", "Key"), ("DeleteItem", "Key")):
            with self.subTest(operation):
                self.check([(f"dynamodb:{operation}", TABLE_ARN, ["C#a"])], operation, TableName="main", **{part: item("C#a")})

    def test_query(self):
        values = {":p": {"S": "C#a"}, ":s": {"S": "X"}}
        for expression, names in (
            ("pk = :p", {}), ("#k=:p AND sk <= :s", {"#k": "pk"}), ("sk = :s AND #k = :p", {"#k": "pk"}), ("(pk = :p) and begins_with(sk, :s)", {}),
        ):
            with self.subTest(expression):
                self.check([("dynamodb:Query", TABLE_ARN, ["C#a"])], "Query", TableName="main", KeyConditionExpression=expression,
                           ExpressionAttributeNames=names, ExpressionAttributeValues=values)

    def test_index(self):
        self.check([("dynamodb:Query", TABLE_ARN + "/index/byOwner", ["ada"])], "Query", TableName="main", IndexName="byOwner",
                   KeyConditionExpression="owner = :o", ExpressionAttributeValues={":o": {"S": "ada"}})

    def test_scan(self):
        """A scan has no leading keys."""
        self.check([("dynamodb:Scan", TABLE_ARN, [])], "Scan", TableName="main")

    def test_transaction(self):
        """Each part needs the right of its single call."""
        got = of("dynamodb", "TransactWriteItems", TransactItems=[
            {"Put": {"TableName": "main", "Item": item("C#a")}},
            {"Update": {"TableName": "main", "Key": item("C#a")}},
            {"Delete": {"TableName": "main", "Key": item("DUE#1")}},
            {"ConditionCheck": {"TableName": "other", "Key": {"id": {"N": "7"}}}},
        ])
        self.assertEqual([(r.action, r.resource.rpartition("/")[2], r.keys["dynamodb:leadingkeys"]) for r in got], [
            ("dynamodb:PutItem", "main", ["C#a"]), ("dynamodb:UpdateItem", "main", ["C#a"]),
            ("dynamodb:DeleteItem", "main", ["DUE#1"]), ("dynamodb:ConditionCheckItem", "other", ["7"]),
        ])
        self.assertEqual({tuple(r.keys["dynamodb:enclosingoperation"]) for r in got}, {("TransactWriteItems",)})
        self.check([("dynamodb:GetItem", TABLE_ARN, ["C#a"])], "TransactGetItems",
                   TransactItems=[{"Get": {"TableName": "main", "Key": item("C#a")}}])

    def test_batch(self):
        self.check([("dynamodb:BatchGetItem", TABLE_ARN, ["C#a", "C#b"])], "BatchGetItem",
                   RequestItems={"main": {"Keys": [item("C#a"), item("C#b")]}})
        self.check([("dynamodb:BatchWriteItem", TABLE_ARN, ["C#a", "L#b"])], "BatchWriteItem",
                   RequestItems={"main": [{"PutRequest": {"Item": item("C#a")}}, {"DeleteRequest": {"Key": item("L#b")}}]})

    def test_at_rest(self):
        """The table's key is used once, as the caller, through DynamoDB."""
        parts = [{"Put": {"TableName": "main", "Item": item("C#a")}}, {"Put": {"TableName": "main", "Item": item("C#b")}}]
        *items, key = of("dynamodb", "TransactWriteItems", at_rest=KEY_ARN, TransactItems=parts)
        self.assertEqual([r.action for r in items], ["dynamodb:PutItem", "dynamodb:PutItem"])
        self.assertEqual((key.action, key.resource), ("kms:Decrypt", KEY_ARN))
        self.assertEqual(key.keys["kms:viaservice"], ["dynamodb.eu-central-1.amazonaws.com"])

    def test_unknown(self):
        for operation, parameters in (
            ("ExecuteStatement", {"Statement": "SELECT"}), ("Query", {"TableName": "main", "KeyConditionExpression": "sk = :s"}),
            ("GetItem", {"TableName": "missing", "Key": item("C#a")}), ("PutItem", {"TableName": "main", "Item": {}}),
        ):
            with self.subTest(operation), self.assertRaises(needs.Malformed):
                of("dynamodb", operation, **parameters)


class Others(unittest.TestCase):
    def check(self, want, *call, **parameters):
        self.assertEqual([(r.action, r.resource) for r in of(*call, **parameters)], want)

    def test_streams(self):
        stream = TABLE_ARN + "/stream/2026-01-01T00:00:00.000"
        self.check([("dynamodb:DescribeStream", stream)], "dynamodbstreams", "DescribeStream", StreamArn=stream)
        # DynamoDB Local writes another region into its names.
        iterator = "000|" + stream.replace("eu-central-1", "ddblocal") + "|c2hhcmQ="
        self.check([("dynamodb:GetRecords", stream)], "dynamodbstreams", "GetRecords", ShardIterator=iterator)
        self.check([("dynamodb:ListStreams", "*")], "dynamodbstreams", "ListStreams")

    def test_queues(self):
        queue = "arn:aws:sqs:eu-central-1:000000000000:syncs"
        for operation, action in (("SendMessage", "SendMessage"), ("SendMessageBatch", "SendMessage"), ("DeleteMessageBatch", "DeleteMessage")):
            self.check([(f"sqs:{action}", queue)], "sqs", operation, QueueUrl="http://sqs.eu-central-1.host:1/000000000000/syncs")

    def test_keys(self):
        request, = of("kms", "Encrypt", KeyId=KEY_ARN, EncryptionContext={"company": "acme"})
        self.assertEqual((request.action, request.resource), ("kms:Encrypt", KEY_ARN))
        self.assertEqual(request.keys["kms:encryptioncontextkeys"], ["company"])
        self.assertEqual(request.keys["kms:encryptioncontext:company"], ["acme"])
        request, = of("kms", "Decrypt", CiphertextBlob=b"1")  # the text names its key
        self.assertEqual((request.resource, request.keys["kms:encryptioncontextkeys"]), (KEY_ARN, []))

    def test_rest(self):
        self.check([("secretsmanager:GetSecretValue", "arn:aws:secretsmanager:eu-central-1:000000000000:secret:tokens-AbCdEf")],
                   "secretsmanager", "GetSecretValue", SecretId="tokens")
        self.check([("apigateway:GET", "arn:aws:apigateway:eu-central-1::/usageplans/1/keys")],
                   "apigateway", "GetUsagePlanKeys", method="GET", path="/usageplans/1/keys?limit=1")
        self.check([("logs:PutLogEvents", "arn:aws:logs:eu-central-1:000000000000:log-group:/aws/g:log-stream:s")],
                   "logs", "PutLogEvents", logGroupName="/aws/g", logStreamName="s")

    def test_unknown(self):
        for call in (("s3", "GetObject"), ("kms", "ReEncrypt"), ("sqs", "ListQueues"), ("secretsmanager", "GetRandomPassword")):
            with self.subTest(call), self.assertRaises(needs.Malformed):
                of(*call)
        with self.assertRaises(needs.Malformed):
            of("kms", "Encrypt", KeyId="alias/main")
