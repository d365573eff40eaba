package kmsvault

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"orgops/shared/base/awsclient"
)

// Create creates a key with this alias, such as alias/dev-orgops, if it is missing, and returns the key's ARN. It serves
// emulators and tests; the deployment creates the real key.
func Create(ctx context.Context, access awsclient.Access, alias string) (arn string, err error) {
	client := New(access, "").client
	arn, err = find(ctx, client, alias)
	var missing *types.NotFoundException
	if !errors.As(err, &missing) {
		return arn, err
	}
	made, err := client.CreateKey(ctx, &kms.CreateKeyInput{Description: aws.String("Wraps the data key of each company")})
	if err != nil {
		return "", fmt.Errorf("create a KMS key: %w", err)
	}
	_, err = client.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: &alias, TargetKeyId: made.KeyMetadata.KeyId})
	var taken *types.AlreadyExistsException // a concurrent Create was first: use its key
	if err != nil && !errors.As(err, &taken) {
		return "", fmt.Errorf("create KMS %s: %w", alias, err)
	}
	return find(ctx, client, alias)
}

func find(ctx context.Context, client *kms.Client, alias string) (arn string, err error) {
	out, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &alias})
	if err != nil {
		return "", fmt.Errorf("KMS %s: %w", alias, err)
	}
	return aws.ToString(out.KeyMetadata.Arn), nil
}
