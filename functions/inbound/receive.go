package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// receiptKept sets how long a repeated delivery is recognised.
const receiptKept = 7 * 24 * time.Hour

// maxTries bounds how often a delivery is planned again after a concurrent write to the same items. Each conflict means
// that another delivery has succeeded, so this many deliveries about one item can arrive at once.
const maxTries = 50

// delivery holds one inbound request.
type delivery struct {
	company  store.Company
	provider string
	header   http.Header
	body     []byte
}

// answer holds the result of a delivery.
type answer struct {
	duplicate bool
	sandboxed bool
	planned   []intake.Planned
}

// errUnverified answers every delivery whose signature is not verified. The answer must not show whether the company, the
// provider or the secret is unknown, or the signature is bad.
var errUnverified = fault.New(fault.Unauthenticated, "the delivery's signature was not accepted")

// receive verifies, maps, decides and commits a delivery. It parses nothing before the signature is verified.
func (d Deps) receive(ctx context.Context, in delivery) (answer, error) {
	now := d.Now().UTC()
	conn, ok := d.inboundConnector(in.provider)
	if !ok {
		return answer{}, errUnverified
	}
	i, _, err := integration.Load(ctx, in.company, in.provider)
	if fault.KindOf(err) == fault.NotFound {
		return answer{}, errUnverified
	}
	if err != nil {
		return answer{}, err
	}
	deliveryID, err := d.verify(ctx, conn, in, now)
	if err != nil {
		return answer{}, err
	}
	if !i.Enabled {
		return answer{}, fault.Newf(fault.Conflict, "integration %q is disabled; enable it to receive its webhooks", in.provider)
	}
	if !utf8.Valid(in.body) { // the JSON decoder would replace invalid bytes by U+FFFD
		return answer{}, fault.New(fault.Malformed, "the body is not UTF-8")
	}
	actions, err := conn.Map(i.Config, in.header, in.body)
	if err != nil {
		return answer{}, err
	}
	if err := intake.Validate(actions); err != nil {
		return answer{}, err
	}
	return d.apply(ctx, in, i, actions, receiptKey(in.provider, deliveryID, in.body), now)
}

func (d Deps) inboundConnector(provider string) (connector.Inbound, bool) {
	c, ok := d.Connectors.Lookup(provider)
	if !ok {
		return nil, false
	}
	inbound, ok := c.(connector.Inbound)
	return inbound, ok
}

func (d Deps) verify(ctx context.Context, conn connector.Inbound, in delivery, now time.Time) (string, error) {
	secrets, _, err := integration.LoadSecrets(ctx, in.company, d.Vault, in.provider)
	if err != nil {
		return "", err
	}
	live := secrets.Live(now)
	if len(live) == 0 {
		return "", errUnverified
	}
	deliveryID, err := conn.Verify(live, in.header, in.body, now)
	if fault.KindOf(err) == fault.Unauthenticated {
		return "", errUnverified
	}
	return deliveryID, err
}

// apply plans every action and commits effects, decisions and receipt together. In the sandbox it commits the decisions and a
// receipt of the sandbox, so that the same delivery can take effect after the certification.
func (d Deps) apply(ctx context.Context, in delivery, i integration.Integration, actions []connector.Action, receipt string, now time.Time) (answer, error) {
	out := answer{sandboxed: !i.Allows(integration.InboundReceive, now)}
	planner := intake.Planner{Company: in.company, Integration: i, Engine: d.Engine, Now: now, DryRun: out.sandboxed}
	if out.sandboxed {
		receipt += "#sandbox"
	}
	for range maxTries {
		ops := []store.Op{in.company.Create(receipt, "receipt", struct{}{}).Until(now.Add(receiptKept)).Quietly()}
		var err error
		if out.planned, err = plan(ctx, planner, actions); err != nil {
			return answer{}, err
		}
		for _, p := range out.planned {
			ops = append(ops, policy.Create(in.company, p.Decision))
			if !out.sandboxed {
				ops = append(ops, p.Ops...)
			}
		}
		err = in.company.Commit(ctx, ops...)
		var conflict *store.ConflictError
		switch {
		case err == nil:
			return out, nil
		case !errors.As(err, &conflict):
			return answer{}, store.Fault(err, "")
		case conflict.Key == receipt:
			return answer{duplicate: true, sandboxed: out.sandboxed}, nil
		}
	}
	e := fault.New(fault.Unavailable, "too many deliveries change the same items at once; send this one again")
	e.RetryAfter = time.Second
	return answer{}, e
}

// plan plans the actions in order. If two actions change the same item, only the later one takes effect, because a commit
// writes an item once.
func plan(ctx context.Context, planner intake.Planner, actions []connector.Action) ([]intake.Planned, error) {
	planned := make([]intake.Planned, 0, len(actions))
	owner := map[timeline.Reference]int{}
	for n, a := range actions {
		p, err := planner.Plan(ctx, a)
		if err != nil {
			return nil, err
		}
		planned = append(planned, p)
		if a.Note != nil || p.Outcome == intake.Refused { // every note and every refusal makes its own timeline entry
			continue
		}
		if earlier, taken := owner[p.Decision.Resource]; taken {
			planned[earlier].Ops, planned[earlier].Outcome = nil, intake.Unchanged
		}
		owner[p.Decision.Resource] = n
	}
	return planned, nil
}

// receiptKey binds a provider's delivery id to the body. The id is empty if the signature does not cover it: a captured body
// under another id has the same key.
func receiptKey(provider, deliveryID string, body []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s:", len(deliveryID), deliveryID)
	h.Write(body)
	return "RECEIPT#" + provider + "#" + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
