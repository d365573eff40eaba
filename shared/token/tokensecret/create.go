package tokensecret

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"orgops/shared/awsclient"
)

// Create makes a secret with this name and text, if there is none, and returns its ARN; one that is there keeps its text.
// It is for emulators and tests; the real secret is the deployment's.
func Create(ctx context.Context, access awsclient.Access, name string, text []byte) (arn string, err error) {
	client := Open(access, "").client
	made, err := client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String(string(text))})
	if err == nil {
		return aws.ToString(made.ARN), nil
	}
	var exists *types.ResourceExistsException
	if !errors.As(err, &exists) {
		return "", fmt.Errorf("create secret %s: %w", name, err)
	}
	found, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &name})
	if err != nil {
		return "", fmt.Errorf("secret %s: %w", name, err)
	}
	return aws.ToString(found.ARN), nil
}
