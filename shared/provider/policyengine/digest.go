package policyengine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
)

// Digest identifies the exact action of a request: SHA-256 over the canonical JSON (RFC 8785) of the company, the principal,
// the action, the resource and the payload, base64url. It returns an error for a payload that JSON cannot express.
func Digest(company string, r policy.Request) (string, error) {
	text, err := json.Marshal(struct {
		Company   string             `json:"company"`
		Principal timeline.Reference `json:"principal"`
		Action    string             `json:"action"`
		Resource  timeline.Reference `json:"resource"`
		Payload   any                `json:"payload"`
	}{company, r.Principal, r.Action, r.Resource, r.Payload})
	if err != nil {
		return "", fmt.Errorf("encode the action %s: %w", r.Action, err)
	}
	canonical := jsontext.Value(text)
	if err := canonical.Canonicalize(); err != nil {
		return "", fmt.Errorf("encode the action %s in canonical form: %w", r.Action, err)
	}
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
