package token

import (
	"context"
	"log/slog"

	"orgops/shared/base/keyfile"
)

// FileKeys holds the keys of a key file. It follows the file: a rotation or a revocation by another process takes effect with
// the next use. It is safe for concurrent use.
type FileKeys struct {
	path     string
	logger   *slog.Logger
	signer   *Signer
	verifier *Verifier
	file     *keyfile.Watched
}

// OpenFileKeys reads the key file at path, or makes one as LoadOrCreateKeys does.
func OpenFileKeys(path string, config Config, logger *slog.Logger) (*FileKeys, error) {
	set, err := LoadOrCreateKeys(path)
	if err != nil {
		return nil, err
	}
	// The first use reads the file again, in case it was replaced meanwhile.
	return &FileKeys{
		path: path, logger: logger, signer: NewSigner(config, set), verifier: NewVerifier(config, set.Public()), file: keyfile.Watch(path),
	}, nil
}

// Verify checks a token like Verifier.
func (k *FileKeys) Verify(text string, resources ...string) (Claims, error) {
	k.follow()
	return k.verifier.Verify(text, resources...)
}

// Signer implements Keys.
func (k *FileKeys) Signer(context.Context) (*Signer, error) {
	k.follow()
	return k.signer, nil
}

// Public implements Keys.
func (k *FileKeys) Public(context.Context) (PublicKeys, error) {
	k.follow()
	return k.verifier.Keys(), nil
}

// follow reads the file if it was replaced. If it cannot be read, the current keys stay in use.
func (k *FileKeys) follow() {
	k.file.Replaced(func() {
		set, err := loadKeys(k.path)
		if err != nil {
			k.logger.Warn("the key file of the tokens could not be read again; the current keys stay in use", "error", err)
			return
		}
		k.signer.Use(set)
		k.verifier.Use(set.Public())
	})
}
