package arrival

import "strings"

// ReceiptEntity and ReceiptsPrefix name the entity of the receipts of deliveries, and the prefix of their keys.
const (
	ReceiptEntity  = "receipt"
	ReceiptsPrefix = "RECEIPT#"
)

// ReceiptPrefix returns the prefix of the keys under which the receipts of an integration's deliveries are kept for 7 days.
func ReceiptPrefix(provider string) string { return ReceiptsPrefix + provider + "#" }

const sandbox = "#sandbox"

// ReceiptKey returns the key of a delivery's receipt. The sandbox has receipts of its own, so that a delivery takes effect that
// is sent again after the certification.
func ReceiptKey(provider, digest string, sandboxed bool) string {
	if sandboxed {
		digest += sandbox
	}
	return ReceiptPrefix(provider) + digest
}

// RefusedKey returns the key of the receipt of a refused delivery.
func RefusedKey(provider, digest string) string { return "REFUSED#" + provider + "#" + digest }

// Receipt is the body of a receipt.
type Receipt struct {
	Denied bool `json:"denied,omitempty"` // the policies denied every action
}

// Accepted returns the provider of a receipt; ok is false for that of a delivery that took no effect.
func (r Receipt) Accepted(key string) (provider string, ok bool) {
	provider, _, _ = strings.Cut(strings.TrimPrefix(key, ReceiptsPrefix), "#")
	return provider, !r.Denied && !strings.HasSuffix(key, sandbox)
}
