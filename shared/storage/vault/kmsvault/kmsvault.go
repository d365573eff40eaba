// Package kmsvault wraps companies' data keys with a key that never leaves AWS KMS. Every call carries the company as its
// encryption context: KMS unwraps a key for no other company, and its log names the company.
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

	"orgops/shared/base/awsclient"
	"orgops/shared/base/fault"
	"orgops/shared/storage/vault"
)

// tryTimeout limits one try. KMS answers in about 10 ms.
const tryTimeout = 3 * time.Second

// Wrapper implements vault.Wrapper and vault.Rewrapper.
type Wrapper struct {
	client *kms.Client
	key    string
	former []string
}

var (
	_ vault.Wrapper   = (*Wrapper)(nil)
	_ vault.Rewrapper = (*Wrapper)(nil)
)

// New returns a Wrapper that wraps by the key with this ARN. The Wrapper unwraps by that key and by the former keys. New
// makes no request.
func New(access awsclient.Access, keyARN string, former ...string) *Wrapper {
	return &Wrapper{key: keyARN, former: former, client: kms.New(kms.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("KMS"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// binding returns the encryption context of a company.
func binding(company string) map[string]string { return map[string]string{"company": company} }

// Wrap encrypts a data key for a company.
func (w *Wrapper) Wrap(ctx context.Context, company string, key []byte) ([]byte, error) {
	out, err := w.client.Encrypt(ctx, &kms.EncryptInput{KeyId: &w.key, Plaintext: key, EncryptionContext: binding(company)})
	if err != nil {
		return nil, unavailable(err)
	}
	return out.CiphertextBlob, nil
}

// Unwrap decrypts a data key. It returns vault.ErrSealed for a key wrapped for another company, by another key, or not at all.
func (w *Wrapper) Unwrap(ctx context.Context, company string, wrapped []byte) ([]byte, error) {
	out, err := w.client.Decrypt(ctx, &kms.DecryptInput{CiphertextBlob: wrapped, EncryptionContext: binding(company)})
	if err != nil {
		return nil, unwrapError(err)
	}
	if err := w.checkKey(out.KeyId); err != nil {
		return nil, err
	}
	return out.Plaintext, nil
}

// Rewrap makes KMS decrypt the data key and encrypt it by the current key. The data key does not leave KMS.
func (w *Wrapper) Rewrap(ctx context.Context, company string, wrapped []byte) (again []byte, changed bool, err error) {
	out, err := w.client.ReEncrypt(ctx, &kms.ReEncryptInput{
		CiphertextBlob: wrapped, SourceEncryptionContext: binding(company),
		DestinationKeyId: &w.key, DestinationEncryptionContext: binding(company),
	})
	if err != nil {
		return nil, false, unwrapError(err)
	}
	if err := w.checkKey(out.SourceKeyId); err != nil {
		return nil, false, err
	}
	return out.CiphertextBlob, *out.SourceKeyId != w.key, nil
}

// checkKey refuses a data key that a foreign key wrapped: the owner of the foreign key would know the data key. KMS alone
// accepts such a data key, because KMS finds the wrapping key by the ciphertext.
func (w *Wrapper) checkKey(keyARN *string) error {
	if arn := aws.ToString(keyARN); arn != w.key && !slices.Contains(w.former, arn) {
		return fmt.Errorf("%w: wrapped by %s", vault.ErrSealed, arn)
	}
	return nil
}

// unwrapError returns vault.ErrSealed for a ciphertext that cannot be unwrapped. Any other error goes to unavailable.
func unwrapError(err error) error {
	var invalid *types.InvalidCiphertextException
	var incorrect *types.IncorrectKeyException
	if errors.As(err, &invalid) || errors.As(err, &incorrect) {
		return errors.Join(vault.ErrSealed, err)
	}
	return unavailable(err)
}

// unavailable converts transient errors, and errors of a missing or forbidden key, to a fault that tells the client to
// retry. To an API client all of them mean that credentials are unavailable now. The cause goes only to the log.
func unavailable(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationException" {
		return err
	}
	return fault.Wrap(fault.Unavailable, "credentials are temporarily unavailable; retry later", err)
}
