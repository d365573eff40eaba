package awstest

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/google/uuid"

	"orgops/shared/base/awsclient"
)

// WrappingKey creates a symmetric KMS key and returns its ARN.
func WrappingKey(t testing.TB, access awsclient.Access) string {
	t.Helper()
	client := kms.New(kms.Options{Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("KMS")})
	out, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	return *out.KeyMetadata.Arn
}

// UsagePlan creates a usage plan of API Gateway and returns its id.
func UsagePlan(t testing.TB, access awsclient.Access, name string) string {
	t.Helper()
	out, err := gateway(access).CreateUsagePlan(t.Context(), &apigateway.CreateUsagePlanInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Id
}

// UsageKeys returns the values of the keys in a usage plan.
func UsageKeys(t testing.TB, access awsclient.Access, plan string) []string {
	t.Helper()
	out, err := gateway(access).GetUsagePlanKeys(t.Context(), &apigateway.GetUsagePlanKeysInput{UsagePlanId: &plan})
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, key := range out.Items {
		values = append(values, *key.Value)
	}
	return values
}

func gateway(access awsclient.Access) *apigateway.Client {
	return apigateway.New(apigateway.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("API_GATEWAY"),
	})
}

// Secret refers to a secret in Secrets Manager.
type Secret struct {
	ARN    string
	client *secretsmanager.Client
}

// NewSecret creates a secret without a value.
func NewSecret(t testing.TB, access awsclient.Access) *Secret {
	t.Helper()
	s := &Secret{client: secretsmanager.New(secretsmanager.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("SECRETS_MANAGER"),
	})}
	name := aws.String(uuid.NewString())
	_, err := s.client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: name})
	if exists := (*types.ResourceExistsException)(nil); errors.As(err, &exists) {
		err = nil // moto does not know the request's token: the answer of the first try was lost
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.client.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: name})
	if err != nil {
		t.Fatal(err)
	}
	s.ARN = *out.ARN
	return s
}

// Set gives the secret a current version with text. Do not use it after a rotation, because moto then has two current
// versions.
func (s *Secret) Set(t testing.TB, text string) {
	t.Helper()
	_, err := s.client.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: &s.ARN, SecretString: &text})
	if err != nil {
		t.Fatal(err)
	}
}

// Text returns the text of the version at a stage, such as AWSCURRENT.
func (s *Secret) Text(t testing.TB, stage string) string {
	t.Helper()
	out, err := s.client.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &s.ARN, VersionStage: &stage})
	if err != nil {
		t.Fatal(err)
	}
	return *out.SecretString
}

// BeginRotation puts the secret into the state in which Secrets Manager first calls a rotation function: the secret has a
// pending version without a value. It returns the id of the pending version, which is the ClientRequestToken of the
// function's events.
func (s *Secret) BeginRotation(t testing.TB) (version string) {
	t.Helper()
	s.endRotation(t)
	version = uuid.NewString()
	function := "arn:aws:lambda:" + region + ":123456789012:function:none"
	_, err := s.client.RotateSecret(t.Context(), &secretsmanager.RotateSecretInput{
		SecretId: &s.ARN, ClientRequestToken: &version, RotationLambdaARN: &function,
	})
	// moto makes the version and then returns an error, because it cannot call the function. The test calls it instead.
	if _, made := s.stages(t)[version]; !made {
		t.Fatalf("the rotation did not begin: %v", err)
	}
	return version
}

// endRotation removes the stage AWSPENDING from a current version. Unlike AWS, moto takes such a version for a rotation in
// progress.
func (s *Secret) endRotation(t testing.TB) {
	t.Helper()
	for version, stages := range s.stages(t) {
		if !slices.Contains(stages, "AWSPENDING") || !slices.Contains(stages, "AWSCURRENT") {
			continue
		}
		_, err := s.client.UpdateSecretVersionStage(t.Context(), &secretsmanager.UpdateSecretVersionStageInput{
			SecretId: &s.ARN, VersionStage: aws.String("AWSPENDING"), RemoveFromVersionId: &version,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (s *Secret) stages(t testing.TB) map[string][]string {
	t.Helper()
	out, err := s.client.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: &s.ARN})
	if err != nil {
		t.Fatal(err)
	}
	return out.VersionIdsToStages
}
