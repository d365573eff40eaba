package arrival

import (
	"context"
	"errors"
	"strings"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// ReceiptEntity and ReceiptsPrefix name the entity of the receipts of arrivals, and the prefix of their keys.
const (
	ReceiptEntity  = "receipt"
	ReceiptsPrefix = "RECEIPT#"
)

// ReceiptKept sets how long a receipt is kept, and a repeated arrival is recognised.
const ReceiptKept = 7 * 24 * time.Hour

// Owner names one incarnation of an integration. What it has received does not belong to the next one of its name.
type Owner struct{ Provider, Incarnation string }

// OwnerOf returns the incarnation of an integration.
func OwnerOf(i integration.Integration) Owner { return Owner{i.Provider, i.Incarnation} }

// incarnationMark is the number of characters by which a key tells incarnations of one provider apart. They are the random end of a UUID,
// so two incarnations share them once in 2^48. A whole UUID would be written three times with each webhook.
const incarnationMark = 12

func (o Owner) key() string {
	if o.Incarnation == "" { // of release 0.1.0
		return o.Provider + "#"
	}
	return o.Provider + "#" + o.Incarnation[max(0, len(o.Incarnation)-incarnationMark):] + "#"
}

// ReceiptPrefix returns the prefix of the keys under which the receipts of an integration's arrivals are kept for 7 days.
func ReceiptPrefix(o Owner) string { return ReceiptsPrefix + o.key() }

const sandbox = "#sandbox"

// ReceiptKey returns the key of an arrival's receipt. The sandbox has receipts of its own, so that an arrival takes effect that
// is sent again after the certification.
func ReceiptKey(o Owner, digest string, sandboxed bool) string {
	if sandboxed {
		digest += sandbox
	}
	return ReceiptPrefix(o) + digest
}

// RefusedKey returns the key of the receipt of a refused arrival.
func RefusedKey(o Owner, digest string) string { return "REFUSED#" + o.key() + digest }

// Receipt is the body of a receipt. Of an arrival that took effect as a whole it says only what was decided, so that a repeat has none.
type Receipt struct {
	None    string   `json:"none,omitempty"`    // why nothing took effect; "": something did
	Basis   string   `json:"basis,omitempty"`   // identifies what was decided; a repeat with the same basis is answered in the same way
	Actions []Action `json:"actions,omitempty"` // what became of each action, if a repeat decides again on any
	Denied  bool     `json:"denied,omitempty"`  // of release 0.1.0: the policies denied every action
	Decided *Decided `json:"decided,omitempty"` // nil: its decisions are in the change feed themselves
}

// Decided counts the decisions that were stored with a receipt. The change feed does not show them, which saves a tenth of what a
// webhook costs under load.
type Decided struct {
	Items int64 `json:"items"`
	Bytes int64 `json:"bytes"` // as they are stored
}

// Action says what became of one action of an arrival.
type Action struct {
	Place      string `json:"place"` // identifies the action among those of the arrival
	Done       bool   `json:"done,omitempty"`
	DecisionID string `json:"decision"`
	ApprovalID string `json:"approval,omitempty"` // the approval that it waits for
}

// IsFinal reports whether the whole arrival took effect.
func (r Receipt) IsFinal() bool {
	for _, a := range r.Actions {
		if !a.Done {
			return false
		}
	}
	return !r.Denied && (r.None == "" || len(r.Actions) > 0)
}

// Accepted returns the provider of a receipt; ok is false for that of an arrival that took no effect.
func (r Receipt) Accepted(key string) (provider string, ok bool) {
	provider, _, _ = strings.Cut(strings.TrimPrefix(key, ReceiptsPrefix), "#")
	return provider, r.None == "" && !r.Denied && !strings.HasSuffix(key, sandbox)
}

// LoadReceipt reads a receipt. It returns version 0 and no error for an expired one.
func LoadReceipt(ctx context.Context, c store.Company, key string) (r Receipt, version int64, err error) {
	item, err := c.Get(ctx, key, &r)
	if errors.Is(err, store.ErrNotFound) {
		return Receipt{}, 0, nil
	}
	return r, item.Version, store.Fault(err, "")
}
