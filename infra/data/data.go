// Package data builds the stateful resources: the two tables, the keys that encrypt them and wrap the companies' data keys,
// and the secrets that hold the token keys. They outlive the stack and have generated names. A failed first deployment takes
// back what holds nothing then: the secrets and the first wrapping key. It cannot delete the tables, which are protected
// against deletion, and leaves the key that encrypts them: infra/clean-failed removes those.
package data

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/nag"
)

// Data holds the stateful resources of a stack.
type Data struct {
	Main   awsdynamodb.ITable // items under pk and sk, with a stream of their changes
	Keys   awsdynamodb.ITable // each company's wrapped data key
	wrap   string             // ARN of the key that wraps data keys
	former []string           // ARNs of former wrapping keys

	Applications string // ARN of the secret with the operator's applications; "": no applications

	signing awssecretsmanager.Secret // keys that sign tokens
	tokens  awssecretsmanager.Secret // keys that verify tokens
}

// Days to which a table can be restored. The keys table has only one day: an erasure destroys a data key, and a restore must
// not bring it back.
const (
	mainRecovery = 35
	keysRecovery = 1
)

// Wrapping selects the keys that wrap the companies' data keys. Keys are numbered from 1; each number has its own KMS key.
type Wrapping struct {
	Number     int      // the key that wraps
	Former     []int    // keys that still unwrap
	FormerARNs []string // keys outside the stack that still unwrap
}

// Restored names tables that an operator has restored, and which take the place of the stack's own. The stack does not manage
// them: `orgops admin table restore` gives them what the stack gives its own.
type Restored struct {
	MainStream string // ARN of the stream of the main table, which tells the table too
	Keys       string // name of the keys table
}

// New builds the stateful resources. A table in whose place an operator has restored another one leaves the stack, and AWS
// keeps it. The key that encrypts the tables stays, because a restored table has the key of the former one.
func New(scope constructs.Construct, w Wrapping, r Restored) *Data {
	unit := constructs.NewConstruct(scope, jsii.String("Data"))
	rest := encryption(unit)
	d := &Data{wrap: wrapping(unit, w.Number), former: slices.Clone(w.FormerARNs)}
	if r.MainStream == "" {
		d.Main = table(unit, "Main", rest, mainRecovery, awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES)
	} else {
		arn, _, _ := strings.Cut(r.MainStream, "/stream/")
		d.Main = awsdynamodb.Table_FromTableAttributes(unit, jsii.String("Main"), &awsdynamodb.TableAttributes{TableArn: &arn, TableStreamArn: &r.MainStream})
	}
	if r.Keys == "" {
		d.Keys = table(unit, "Keys", rest, keysRecovery, "")
	} else {
		d.Keys = awsdynamodb.Table_FromTableName(unit, jsii.String("Keys"), &r.Keys)
	}
	for _, number := range w.Former {
		d.former = append(d.former, wrapping(unit, number))
	}
	d.signing, d.tokens = signing(unit), verifying(unit)
	return d
}

// wrapping creates the wrapping key of a number and returns its ARN. A later key stays even if the update that creates it is
// rolled back, because the running functions may have wrapped data keys with it.
func wrapping(scope constructs.Construct, number int) string {
	name, removal := "Wrapping", awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE // the first key's name is kept, so that existing stacks do not replace it
	if number > 1 {
		name, removal = name+strconv.Itoa(number), awscdk.RemovalPolicy_RETAIN
	}
	return *awskms.NewKey(scope, &name, &awskms.KeyProps{
		Description:       jsii.String("Wraps the data key of each company, bound to the company by the encryption context"),
		EnableKeyRotation: jsii.Bool(true), RemovalPolicy: removal,
		MultiRegion: jsii.Bool(true), // KMS cannot make it so later; without a replica, secrets end with the region
	}).KeyArn()
}

// encryption creates the key that encrypts the tables at rest. A principal of this account that may use a table may use the
// key, but only through DynamoDB. So roles need no rights on the key and cannot decrypt anything else with it.
func encryption(scope constructs.Construct) awskms.Key {
	key := awskms.NewKey(scope, jsii.String("AtRest"), &awskms.KeyProps{
		Description:       jsii.String("Encrypts the tables at rest"),
		EnableKeyRotation: jsii.Bool(true), RemovalPolicy: awscdk.RemovalPolicy_RETAIN,
	})
	stack := awscdk.Stack_Of(scope)
	key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Principals: &[]awsiam.IPrincipal{awsiam.NewAnyPrincipal()},
		Actions: jsii.Strings("kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey",
			"kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey", "kms:CreateGrant"),
		Resources: jsii.Strings("*"), // this key only, in a key policy
		Conditions: &map[string]any{"StringEquals": map[string]any{
			"kms:CallerAccount": stack.Account(),
			"kms:ViaService":    "dynamodb." + *stack.Region() + ".amazonaws.com",
		}},
	}), nil)
	return key
}

func table(scope constructs.Construct, name string, key awskms.Key, recovery float64, stream awsdynamodb.StreamViewType) awsdynamodb.Table {
	text := func(name string) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: &name, Type: awsdynamodb.AttributeType_STRING}
	}
	return awsdynamodb.NewTable(scope, &name, &awsdynamodb.TableProps{
		PartitionKey: text("pk"), SortKey: text("sk"), TimeToLiveAttribute: jsii.String("expires"),
		BillingMode: awsdynamodb.BillingMode_PAY_PER_REQUEST, Stream: stream,
		Encryption: awsdynamodb.TableEncryption_CUSTOMER_MANAGED, EncryptionKey: key,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true), RecoveryPeriodInDays: &recovery,
		},
		DeletionProtection: jsii.Bool(true), RemovalPolicy: awscdk.RemovalPolicy_RETAIN,
	})
}

// signing creates the secret of the keys that sign tokens. It starts as an empty object, which the rotator fills.
func signing(scope constructs.Construct) awssecretsmanager.Secret {
	return awssecretsmanager.NewSecret(scope, jsii.String("Signing"), &awssecretsmanager.SecretProps{
		Description:       jsii.String("Keys that sign access tokens"),
		SecretStringValue: awscdk.SecretValue_UnsafePlainText(jsii.String("{}")), // no secret yet
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE,
	})
}

// verifying creates the secret {"cursor": <random text>, …}. The rotator adds the public halves of the signing keys; the key
// that seals cursors is derived from the text.
func verifying(scope constructs.Construct) awssecretsmanager.Secret {
	secret := awssecretsmanager.NewSecret(scope, jsii.String("Tokens"), &awssecretsmanager.SecretProps{
		Description: jsii.String("Keys that verify access tokens, and the cursor key"),
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
			SecretStringTemplate: jsii.String("{}"), GenerateStringKey: jsii.String("cursor"),
			PasswordLength: jsii.Number(64), ExcludePunctuation: jsii.Bool(true),
		},
		RemovalPolicy: awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE,
	})
	nag.Suppress(secret, "AwsSolutions-SMG4", "The rotation of the signing keys also writes this secret")
	return secret
}
