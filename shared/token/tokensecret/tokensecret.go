// Package tokensecret keeps the keys of tokens in two secrets of AWS Secrets Manager, so that who verifies cannot sign.
// The secret of the signing keys is a token.KeySet as it encodes itself. The published one is a JSON object: "keys", a
// JWK Set's member with the keys' times, and "cursor", the text that cursors are sealed with.
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

	"orgops/shared/awsclient"
	"orgops/shared/token"
)

// The stages of a secret's versions, as Secrets Manager names them.
const (
	current = "AWSCURRENT"
	pending = "AWSPENDING"
)

// tryTimeout bounds one try.
const tryTimeout = 3 * time.Second

// Secret is one secret.
type Secret struct {
	client *secretsmanager.Client
	arn    string
}

// Open names the secret. It calls nobody.
func Open(access awsclient.Access, arn string) *Secret {
	return &Secret{arn: arn, client: secretsmanager.New(secretsmanager.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("SECRETS_MANAGER"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// Published is what a process that verifies needs.
type Published struct {
	Keys   token.PublicKeys
	Cursor []byte
}

// Published is the content of the published secret. One that no rotation has given keys yet is an error.
func (s *Secret) Published(ctx context.Context) (Published, error) {
	text, err := s.text(ctx)
	if err != nil {
		return Published{}, err
	}
	var rest struct {
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal(text, &rest); err != nil || rest.Cursor == "" {
		return Published{}, errors.New("the secret of the published token keys holds no cursor")
	}
	keys, err := token.ParseJWKS(text)
	if err != nil {
		return Published{}, fmt.Errorf("the secret of the published token keys, which a rotation fills: %w", err)
	}
	return Published{keys, []byte(rest.Cursor)}, nil
}

// Signing is the content of the secret of the signing keys, likewise.
func (s *Secret) Signing(ctx context.Context) (token.KeySet, error) {
	text, err := s.text(ctx)
	if err != nil {
		return token.KeySet{}, err
	}
	set, err := token.DecodeKeySet(text)
	if err != nil {
		return token.KeySet{}, fmt.Errorf("the secret of the signing keys, which a rotation fills: %w", err)
	}
	return set, nil
}

func (s *Secret) text(ctx context.Context) ([]byte, error) {
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

// Value is the text of a version, "" for the current one, and whether it has one.
func (s *Secret) Value(ctx context.Context, version string) (text []byte, found bool, err error) {
	if version == "" {
		text, err = s.text(ctx)
	} else {
		text, err = s.get(ctx, &secretsmanager.GetSecretValueInput{VersionId: &version})
	}
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, false, nil
	}
	return text, err == nil, err
}

// Stages is the stages of each version.
func (s *Secret) Stages(ctx context.Context) (map[string][]string, error) {
	out, err := s.client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &s.arn})
	if err != nil {
		return nil, err
	}
	return out.VersionIdsToStages, nil
}

// Pend stores the text of a version that is about to become current. A version that has its text already keeps it.
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

// Replace gives the secret another text at once.
func (s *Secret) Replace(ctx context.Context, text []byte) error {
	_, err := s.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: &s.arn, SecretString: aws.String(string(text))})
	return err
}
