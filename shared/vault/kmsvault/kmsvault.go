// Package kmsvault wraps companies' data keys with a key that never leaves AWS KMS. The company is the encryption context
// of every call: KMS unwraps a key for no other company, and its log names the company.
package kmsvault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"

	"orgops/shared/awsclient"
	"orgops/shared/fault"
	"orgops/shared/vault"
)

// tryTimeout bounds one try; KMS answers in some 10 ms.
const tryTimeout = 3 * time.Second

// Wrapper is a vault.Wrapper.
type Wrapper struct {
	client *kms.Client
	key    string
	former []string
}

var (
	_ vault.Wrapper   = (*Wrapper)(nil)
	_ vault.Rewrapper = (*Wrapper)(nil)
)

// New wraps by the key with this ARN, and unwraps by it and by former ones. It calls nobody.
func New(access awsclient.Access, keyARN string, former ...string) *Wrapper {
	return &Wrapper{key: keyARN, former: former, client: kms.New(kms.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("KMS"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// binding is the encryption context of a company.
func binding(company string) map[string]string { return map[string]string{"company": company} }

// Wrap encrypts a data key for a company.
func (w *Wrapper) Wrap(ctx context.Context, company string, key []byte) ([]byte, error) {
	out, err := w.client.Encrypt(ctx, &kms.EncryptInput{KeyId: &w.key, Plaintext: key, EncryptionContext: binding(company)})
	if err != nil {
		return nil, outside(err)
	}
	return out.CiphertextBlob, nil
}

// Unwrap is vault.ErrSealed for a key that was wrapped for another company, by another key, or not at all.
func (w *Wrapper) Unwrap(ctx context.Context, company string, wrapped []byte) ([]byte, error) {
	out, err := w.client.Decrypt(ctx, &kms.DecryptInput{CiphertextBlob: wrapped, EncryptionContext: binding(company)})
	if err != nil {
		return nil, unwrapping(err)
	}
	if err := w.ours(out.KeyId); err != nil {
		return nil, err
	}
	return out.Plaintext, nil
}

// Rewrap has KMS decrypt and encrypt: the data key does not leave it.
func (w *Wrapper) Rewrap(ctx context.Context, company string, wrapped []byte) (again []byte, changed bool, err error) {
	out, err := w.client.ReEncrypt(ctx, &kms.ReEncryptInput{
		CiphertextBlob: wrapped, SourceEncryptionContext: binding(company),
		DestinationKeyId: &w.key, DestinationEncryptionContext: binding(company),
	})
	if err != nil {
		return nil, false, unwrapping(err)
	}
	if err := w.ours(out.SourceKeyId); err != nil {
		return nil, false, err
	}
	return out.CiphertextBlob, *out.SourceKeyId != w.key, nil
}

// ours refuses what was wrapped by a stranger's key, who would know the data key: KMS finds the key by the text.
func (w *Wrapper) ours(keyARN *string) error {
	if arn := aws.ToString(keyARN); arn != w.key && !slices.Contains(w.former, arn) {
		return fmt.Errorf("%w: wrapped by %s", vault.ErrSealed, arn)
	}
	return nil
}

// unwrapping tells a text that cannot be unwrapped from a service that cannot be used.
func unwrapping(err error) error {
	var invalid *types.InvalidCiphertextException
	var incorrect *types.IncorrectKeyException
	if errors.As(err, &invalid) || errors.As(err, &incorrect) {
		return errors.Join(vault.ErrSealed, err)
	}
	return outside(err)
}

// outside makes what may pass, and a key that is not there or may not be used, a fault that says to try again: to a
// caller both mean that credentials cannot be reached now. The cause is for the log.
func outside(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationException" {
		return err
	}
	return fault.Wrap(fault.Unavailable, "credentials cannot be opened or sealed at present; try again", err)
}
