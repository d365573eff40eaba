// Package tokensecret keeps the keys of tokens in two secrets of AWS Secrets Manager, so that processes that only verify
// cannot sign. The secret of the signing keys holds an encoded token.KeySet. The published secret holds a JSON object with
// two members. "keys" is the member of a JWK Set, with the times of each key. "cursor" is the text that seals page cursors.
package tokensecret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/identity/token"
)

// The stages of a secret's versions, as Secrets Manager names them.
const (
	current = "AWSCURRENT"
	pending = "AWSPENDING"
)

// tryTimeout bounds one try of a call.
const tryTimeout = 3 * time.Second

// Secret reads and writes one secret.
type Secret struct {
	client *secretsmanager.Client
	arn    string
}

// Open makes a Secret. It sends no request.
func Open(access awsclient.Access, arn string) *Secret {
	return &Secret{arn: arn, client: secretsmanager.New(secretsmanager.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("SECRETS_MANAGER"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// Published holds what a process needs to verify tokens.
type Published struct {
	Keys   token.PublicKeys
	Cursor []byte
}

// Published reads the published secret. It returns an error until a first rotation has filled the secret.
func (s *Secret) Published(ctx context.Context) (Published, error) {
	text, err := s.Text(ctx)
	if err != nil {
		return Published{}, err
	}
	var rest struct {
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal(text, &rest); err != nil || rest.Cursor == "" {
		return Published{}, errors.New("the secret of the published token keys has no cursor; restore the cursor that the deployment made")
	}
	keys, err := token.ParseJWKS(text)
	if err != nil {
		return Published{}, fmt.Errorf("read the secret of the published token keys, which a rotation fills: %w", err)
	}
	return Published{keys, []byte(rest.Cursor)}, nil
}

// Signing reads the secret of the signing keys. It returns an error until a first rotation has filled the secret.
func (s *Secret) Signing(ctx context.Context) (token.KeySet, error) {
	text, err := s.Text(ctx)
	if err != nil {
		return token.KeySet{}, err
	}
	set, err := token.DecodeKeySet(text)
	if err != nil {
		return token.KeySet{}, fmt.Errorf("read the secret of the signing keys, which a rotation fills: %w", err)
	}
	return set, nil
}

// Text returns the current text of the secret.
func (s *Secret) Text(ctx context.Context) ([]byte, error) {
	return s.get(ctx, &secretsmanager.GetSecretValueInput{VersionStage: aws.String(current)})
}

func (s *Secret) get(ctx context.Context, in *secretsmanager.GetSecretValueInput) ([]byte, error) {
	in.SecretId = &s.arn
	out, err := s.client.GetSecretValue(ctx, in)
	if err != nil {
		return nil, err
	}
	return []byte(aws.ToString(out.SecretString)), nil
}

// Value returns the text of a version; "" selects the current version. found is false when the version has no text.
func (s *Secret) Value(ctx context.Context, version string) (text []byte, found bool, err error) {
	if version == "" {
		text, err = s.Text(ctx)
	} else {
		text, err = s.get(ctx, &secretsmanager.GetSecretValueInput{VersionId: &version})
	}
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, false, nil
	}
	return text, err == nil, err
}

// Stages returns the stages of each version.
func (s *Secret) Stages(ctx context.Context) (map[string][]string, error) {
	out, err := s.client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &s.arn})
	if err != nil {
		return nil, err
	}
	return out.VersionIdsToStages, nil
}

// Pend stores the text of a version that is about to become current. A version that already has a text keeps it.
func (s *Secret) Pend(ctx context.Context, version string, text []byte) error {
	value := string(text)
	_, err := s.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{
		SecretId: &s.arn, ClientRequestToken: &version, SecretString: &value, VersionStages: []string{pending},
	})
	var exists *types.ResourceExistsException
	if errors.As(err, &exists) {
		return nil
	}
	return err
}

// Promote makes a version the current one.
func (s *Secret) Promote(ctx context.Context, version string) error {
	stages, err := s.Stages(ctx)
	if err != nil {
		return err
	}
	stage := current
	in := &secretsmanager.UpdateSecretVersionStageInput{SecretId: &s.arn, VersionStage: &stage, MoveToVersionId: &version}
	for v, names := range stages {
		if slices.Contains(names, current) {
			if v == version {
				return nil
			}
			in.RemoveFromVersionId = &v
		}
	}
	_, err = s.client.UpdateSecretVersionStage(ctx, in)
	return err
}

// Replace stores a new text that is current at once.
func (s *Secret) Replace(ctx context.Context, text []byte) error {
	_, err := s.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: &s.arn, SecretString: aws.String(string(text))})
	return err
}
