package tokensecret

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/identity/token"
)

// Create makes the two secrets name-signing-keys and name-token-keys with a first key, unless they exist, and returns their
// ARNs. It serves emulators and tests; the deployment makes the real secrets.
func Create(ctx context.Context, access awsclient.Access, name string) (signing, published string, err error) {
	key, err := token.NewKey(nil)
	if err != nil {
		return "", "", err
	}
	text, err := token.KeySet{Current: key}.Encode()
	if err != nil {
		return "", "", err
	}
	if signing, err = create(ctx, access, name+"-signing-keys", text); err != nil {
		return "", "", err
	}
	set, err := Open(access, signing).Signing(ctx) // an existing secret may have other keys
	if err != nil {
		return "", "", err
	}
	if text, err = Document(set.Public(), rand.Text()+rand.Text()); err != nil {
		return "", "", err
	}
	published, err = create(ctx, access, name+"-token-keys", text)
	return signing, published, err
}

// Document returns the text of a published secret.
func Document(keys token.PublicKeys, cursor string) ([]byte, error) {
	text, err := keys.Encode()
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	if members["cursor"], err = json.Marshal(cursor); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

func create(ctx context.Context, access awsclient.Access, name string, text []byte) (arn string, err error) {
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
