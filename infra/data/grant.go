package data

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
	"orgops/infra/nag"
)

// The kinds of partitions, as patterns of the leading keys that a function may access.
const (
	Companies = "C#*"
	Logins    = "L#*"
	Registry  = "REGISTRY#*"
	Timers    = "DUE#*"
	System    = "SYSTEM"
	Spread    = "SPREAD"
)

const (
	tableVariable    = "ORGOPS_TABLE"
	keysVariable     = "ORGOPS_KEYS_TABLE"
	wrappingVariable = "ORGOPS_WRAPPING_KEY"
	formerVariable   = "ORGOPS_FORMER_WRAPPING_KEYS"
	tokensVariable   = "ORGOPS_TOKEN_KEYS"
	signingVariable  = "ORGOPS_SIGNING_KEYS"
)

// Variables returns the environment variables that the operator's commands need.
func (d *Data) Variables() [][2]string {
	all := [][2]string{
		{tableVariable, *d.Main.TableName()}, {keysVariable, *d.Keys.TableName()}, {wrappingVariable, d.wrap},
		{tokensVariable, *d.tokens.SecretArn()}, {signingVariable, *d.signing.SecretArn()},
	}
	return append(all, d.formerKeys()...)
}

// formerKeys returns the variable that names the former wrapping keys, if the stack has any.
func (d *Data) formerKeys() [][2]string {
	if len(d.former) == 0 {
		return nil
	}
	return [][2]string{{formerVariable, strings.Join(d.former, ",")}}
}

// Read lets a function read the items of these partitions. A reader of companies' items also reads which companies are spread over
// sub-partitions.
func (d *Data) Read(f *function.Function, partitions ...string) {
	if slices.Contains(partitions, Companies) {
		partitions = append(slices.Clone(partitions), Spread)
	}
	f.Set(tableVariable, *d.Main.TableName())
	f.Allow([]string{"dynamodb:GetItem", "dynamodb:Query"}, leading(partitions), *d.Main.TableArn())
}

// ReadMany lets a function that may read these partitions read many items at once.
func (d *Data) ReadMany(f *function.Function, partitions ...string) {
	f.Allow([]string{"dynamodb:BatchGetItem"}, leading(partitions), *d.Main.TableArn())
}

// Write lets a function write items of these partitions. A transaction needs the rights of its single writes. Deleting an
// item of a company is also a write, because it leaves a tombstone. A transaction may check items of companies that it does not
// change, as a create does while a company grows.
func (d *Data) Write(f *function.Function, partitions ...string) {
	f.Set(tableVariable, *d.Main.TableName())
	f.Allow([]string{"dynamodb:PutItem"}, leading(partitions), *d.Main.TableArn())
	if slices.Contains(partitions, Companies) {
		f.Allow([]string{"dynamodb:ConditionCheckItem"}, leading([]string{Companies}), *d.Main.TableArn())
	}
}

// Remove lets a function delete items without leaving a tombstone.
func (d *Data) Remove(f *function.Function, partitions ...string) {
	f.Allow([]string{"dynamodb:DeleteItem"}, leading(partitions), *d.Main.TableArn())
}

// leading returns the condition on partition keys. ForAllValues also accepts a request without any key; Null refuses such a
// request.
func leading(partitions []string) map[string]any {
	return map[string]any{
		"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": partitions},
		"Null":                    map[string]any{"dynamodb:LeadingKeys": "false"},
	}
}

// Unseal lets a function open credentials: read wrapped keys and unwrap them, each only for a named company.
func (d *Data) Unseal(f *function.Function) {
	f.Set(keysVariable, *d.Keys.TableName())
	f.Set(wrappingVariable, d.wrap)
	for _, v := range d.formerKeys() {
		f.Set(v[0], v[1])
	}
	f.Allow([]string{"dynamodb:GetItem"}, leading([]string{Companies}), *d.Keys.TableArn())
	f.Allow([]string{"kms:Decrypt"}, forCompany(), append([]string{d.wrap}, d.former...)...)
}

// Destroy lets a function destroy companies' data keys. The deletion of a company's item leaves a tombstone, without the key.
func (d *Data) Destroy(f *function.Function) {
	f.Set(keysVariable, *d.Keys.TableName())
	f.Allow([]string{"dynamodb:GetItem", "dynamodb:PutItem"}, leading([]string{Companies}), *d.Keys.TableArn())
}

// Seal also lets a function seal credentials. For that, the function may create the company's data key. A condition in the
// write itself keeps the function from replacing an existing key.
func (d *Data) Seal(f *function.Function) {
	d.Unseal(f)
	f.Allow([]string{"dynamodb:PutItem"}, leading([]string{Companies}), *d.Keys.TableArn())
	f.Allow([]string{"kms:Encrypt"}, forCompany(), d.wrap)
}

// SealOwn lets a function that may destroy data keys also seal and open the credentials of one company, which is the service's own.
func (d *Data) SealOwn(f *function.Function, company string) {
	f.Set(wrappingVariable, d.wrap)
	for _, v := range d.formerKeys() {
		f.Set(v[0], v[1])
	}
	own := forCompany()
	own["StringEquals"] = map[string]any{"kms:EncryptionContext:company": company}
	f.Allow([]string{"kms:Decrypt"}, own, append([]string{d.wrap}, d.former...)...)
	f.Allow([]string{"kms:Encrypt"}, own, d.wrap)
}

// forCompany refuses requests whose encryption context does not name a company. ForAnyValue fails without any context.
func forCompany() map[string]any {
	return map[string]any{"ForAnyValue:StringEquals": map[string]any{"kms:EncryptionContextKeys": "company"}}
}

// Follow lets a function read the stream of changes. ListStreams, which shows only the names of the account's streams,
// supports no narrower resource.
func (d *Data) Follow(f *function.Function) {
	f.Allow([]string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, nil, *d.Main.TableStreamArn())
	f.Allow([]string{"dynamodb:ListStreams"}, nil, "*")
	nag.Suppress(f.Role(), "AwsSolutions-IAM5", "DynamoDB's action ListStreams supports no resources", "Resource::*")
}

// Tokens lets a function read the keys that verify tokens.
func (d *Data) Tokens(f *function.Function) {
	f.Set(tokensVariable, *d.tokens.SecretArn())
	f.Allow([]string{"secretsmanager:GetSecretValue"}, nil, *d.tokens.SecretArn())
}

// Sign lets a function read the signing keys as well.
func (d *Data) Sign(f *function.Function) {
	d.Tokens(f)
	f.Set(signingVariable, *d.signing.SecretArn())
	f.Allow([]string{"secretsmanager:GetSecretValue"}, nil, *d.signing.SecretArn())
}

// Connect lets a function read the applications that the operator has registered with providers, if there are any.
func (d *Data) Connect(f *function.Function) {
	if d.Applications == "" {
		return
	}
	f.Set("ORGOPS_APPLICATIONS", d.Applications)
	f.Allow([]string{"secretsmanager:GetSecretValue"}, nil, d.Applications)
}

// rotateEvery sets how often the signing key changes.
const rotateEvery = "rate(30 days)"

// RotateBy makes a function create a new signing key every 30 days, in Secrets Manager's four steps. The key is published
// before it signs.
func (d *Data) RotateBy(f *function.Function) {
	d.Tokens(f)
	f.Allow([]string{"secretsmanager:PutSecretValue"}, nil, *d.tokens.SecretArn())
	f.Set(signingVariable, *d.signing.SecretArn())
	f.Allow([]string{
		"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue",
		"secretsmanager:UpdateSecretVersionStage",
	}, nil, *d.signing.SecretArn())
	f.AddPermission(jsii.String("Rotation"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("secretsmanager.amazonaws.com"), nil),
		SourceArn: d.signing.SecretArn(), SourceAccount: awscdk.Stack_Of(f.Function).Account(),
	})
	schedule := awssecretsmanager.NewCfnRotationSchedule(f.Function, jsii.String("Schedule"), &awssecretsmanager.CfnRotationScheduleProps{
		SecretId: d.signing.SecretArn(), RotationLambdaArn: f.FunctionArn(), RotateImmediatelyOnUpdate: jsii.Bool(true),
		RotationRules: &awssecretsmanager.CfnRotationSchedule_RotationRulesProperty{ScheduleExpression: jsii.String(rotateEvery)},
	})
	schedule.Node().AddDependency(f.Node().FindChild(jsii.String("Rotation")), f.Role()) // the first rotation starts at once
}
