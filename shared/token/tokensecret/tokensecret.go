// Package tokensecret keeps the signing keys of tokens in AWS Secrets Manager. The secret is a JSON object: "current" and,
// after a rotation, "previous" as token.KeySet encodes them, and "cursor", the text that cursors are sealed with.
package tokensecret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"orgops/shared/awsclient"
	"orgops/shared/token"
)

// The stages of a secret's versions, as Secrets Manager names them.
const (
	Current = "AWSCURRENT"
	Pending = "AWSPENDING"
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

// Keys is what a process that serves needs of the secret.
type Keys struct {
	Signing token.KeySet
	Cursor  []byte
}

// Read is the secret's current version. A secret that no rotation has given keys yet is an error.
func (s *Secret) Read(ctx context.Context) (Keys, error) {
	text, err := s.Value(ctx, Current)
	if err != nil {
		return Keys{}, err
	}
	var rest struct {
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal(text, &rest); err != nil || rest.Cursor == "" {
		return Keys{}, errors.New("the secret of the token keys holds no cursor")
	}
	set, err := token.DecodeKeySet(text)
	if err != nil {
		return Keys{}, fmt.Errorf("the secret of the token keys, which a rotation fills: %w", err)
	}
	return Keys{Signing: set, Cursor: []byte(rest.Cursor)}, nil
}

// Value is the text of the version at a stage.
func (s *Secret) Value(ctx context.Context, stage string) ([]byte, error) {
	out, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.arn, VersionStage: &stage})
	if err != nil {
		return nil, err
	}
	if out.SecretString == nil {
		return nil, errors.New("the secret is no text")
	}
	return []byte(*out.SecretString), nil
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
		SecretId: &s.arn, ClientRequestToken: &version, SecretString: &value, VersionStages: []string{Pending},
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
	stage := Current
	in := &secretsmanager.UpdateSecretVersionStageInput{SecretId: &s.arn, VersionStage: &stage, MoveToVersionId: &version}
	for v, names := range stages {
		if slices.Contains(names, Current) {
			if v == version {
				return nil
			}
			in.RemoveFromVersionId = &v
		}
	}
	_, err = s.client.UpdateSecretVersionStage(ctx, in)
	return err
}
