package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/metric"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/inbox"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/scheme"
	"orgops/shared/provider/trial"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// maxTries bounds how often an arrival is planned again after a concurrent write to the same items. Each conflict means
// that another arrival has succeeded, so this many arrivals about one item can arrive at once.
const maxTries = 50

// incoming holds one inbound request.
type incoming struct {
	company  store.Company
	provider string
	urls     []string // by which the provider may know the address
	header   http.Header
	body     []byte
	streamed *streamed // of a body of which only the beginning is kept; nil: body is whole
}

// request returns the arrival as its provider has signed it, with a body.
func (in incoming) request(body []byte) scheme.Request {
	r := scheme.Request{Method: http.MethodPost, URLs: in.urls, Header: in.header, Body: body}
	if in.streamed != nil {
		r.Streamed = in.streamed.signatures
	}
	return r
}

// digest binds the provider's id of the arrival to its body. Of an arrival whose signature covers the id and not the body, the id counts
// alone: so a captured signature brings no second body.
func (in incoming) digest(conn connector.Inbound, config json.RawMessage, arrivalID string) string {
	if in.streamed != nil {
		return in.streamed.sum()
	}
	if u, ok := conn.(connector.Uncovered); ok && arrivalID != "" && !u.Covers(config, in.header) {
		return digestOf(arrivalID, nil)
	}
	return digestOf(arrivalID, in.body)
}

// answer holds the result of an arrival.
type answer struct {
	duplicate bool
	sandboxed bool
	planned   []intake.Planned
	none      string // why nothing took effect; "": something did
	known     bool   // the same arrival was answered in the same way before
	place     integration.Place
	greeting  *string // what the provider, which only tries the address, expects to read
}

// counts reports whether an arrival is counted as one without effect. The inbox shows what the sandbox receives.
func (a answer) counts() bool {
	return a.none != "" && a.none != connector.Ping && !a.sandboxed && !a.duplicate && !a.known
}

// errUnverified answers every arrival whose signature is not verified. The answer must not show whether the company, the
// provider or the secret is unknown, or the signature is bad.
var errUnverified = fault.New(fault.Unauthenticated, "the arrival's signature was not accepted")

// receive verifies, maps, decides and commits an arrival. It parses nothing before the signature is verified.
func (d *Deps) receive(ctx context.Context, in incoming) (answer, error) {
	now := d.Now().UTC()
	conn, ok := d.inboundConnector(in.provider)
	if !ok {
		return answer{}, errUnverified
	}
	i, version, err := d.reader.Load(ctx, in.company, in.provider)
	if fault.KindOf(err) == fault.NotFound {
		return answer{}, errUnverified
	}
	if err != nil {
		return answer{}, err
	}
	owner := arrival.OwnerOf(i)
	arrivalID, err := d.verify(ctx, conn, i.Config, &in, now)
	var stranger *unverifiedError
	if fault.KindOf(err) == fault.TooLarge {
		d.refusals.count(ctx, in.company, owner, arrival.Oversized, "the decoded body is too large", now)
	}
	if errors.As(err, &stranger) {
		d.refusals.count(ctx, in.company, owner, arrival.Unverified, stranger.reason, now)
		return answer{}, errUnverified
	}
	if err != nil {
		return answer{}, err
	}
	if wait, ok := d.flows.admit(ctx, in.company, now); !ok {
		d.Metrics.Trouble(metric.InboundLimited, in.company.ID())
		d.refusals.count(ctx, in.company, owner, arrival.Verified, refusedTooMany, now)
		parts, err := in.company.Parts(ctx)
		if err != nil {
			return answer{}, store.Fault(err, "")
		}
		return answer{}, web.TooMany("inbound", MaxAMinute*parts, window, wait, "the company receives too many webhooks at once; send this one again after the time in Retry-After")
	}
	if i.Suspended {
		return answer{}, web.Suspended()
	}
	if greeted, ok := conn.(connector.Greeted); ok {
		if text, ok := greeted.Answer(i.Config, in.body); ok {
			return answer{greeting: &text}, nil
		}
	}
	digest := in.digest(conn, i.Config, arrivalID)
	if !i.Enabled {
		d.refuse(ctx, in, owner, digest, refusedDisabled, now)
		return answer{}, fault.Newf(fault.Conflict, "integration %q is disabled; enable it to receive its webhooks", in.provider)
	}
	a, err := d.take(ctx, conn, i, in, digest, now)
	d.follow(ctx, in.company, integration.Stored{Integration: i, Version: version}, a.place)
	switch reason := reasonOf(err); {
	case reason != "" && i.Allows(integration.InboundReceive, now): // the inbox shows what the sandbox refuses
		d.refuse(ctx, in, owner, digest, reason, now)
	case err == nil && a.counts():
		d.refusals.count(ctx, in.company, owner, arrival.Ineffective, a.none, now)
	default:
		d.refusals.write(ctx, in.company, owner, now)
	}
	return a, err
}

// take maps a verified arrival and applies its actions. The sandbox also keeps an arrival that is refused.
func (d *Deps) take(ctx context.Context, conn connector.Inbound, i integration.Integration, in incoming, digest string, now time.Time) (answer, error) {
	sandboxed := !i.Allows(integration.InboundReceive, now)
	r := &reception{incoming: in, integration: i, receipt: arrival.ReceiptKey(arrival.OwnerOf(i), digest, sandboxed), now: now, sandboxed: sandboxed}
	var err error
	if r.mapped, err = d.mapped(ctx, conn, i, in); err != nil {
		if refused, ok := trial.Refused(err); ok && r.sandboxed {
			if failed := r.keep(ctx, refused); failed != nil {
				return answer{}, failed
			}
		}
		return answer{}, err
	}
	a, err := d.apply(ctx, r)
	a.place = r.mapped.Place
	return a, err
}

// mapped maps an arrival by the company's mapping, or by its provider's default.
func (d *Deps) mapped(ctx context.Context, conn connector.Inbound, i integration.Integration, in incoming) (trial.Mapped, error) {
	if in.streamed != nil {
		return trial.Mapped{Ignored: mapping.IgnoredRules}, nil
	}
	m, err := d.mappings.Of(ctx, in.company, i, conn)
	if err != nil {
		return trial.Mapped{}, err
	}
	if len(in.body) > web.MaxBody { // decoded, it may take ten times as much memory
		select {
		case d.large <- struct{}{}:
			defer func() { <-d.large }()
		case <-ctx.Done():
			return trial.Mapped{}, ctx.Err()
		}
	}
	read, err := mapping.Read(conn, i.Config, i.Place, in.header, in.body)
	if err != nil {
		return trial.Mapped{}, err
	}
	return trial.Map(ctx, m, read)
}

// follow stores what an arrival tells of the place that the configuration names: its id at first, and later each new name. It tells
// no error, because the next arrival tells the same.
func (d *Deps) follow(ctx context.Context, c store.Company, i integration.Stored, place integration.Place) {
	if place.ID == "" || i.Place != nil && *i.Place == place || i.IsDamaged() {
		return
	}
	i.Place = &place
	_ = c.Commit(ctx, c.Replace(integration.Key(i.Provider), integration.Entity, i.Version, i.Integration))
}

func (d *Deps) inboundConnector(provider string) (connector.Inbound, bool) {
	c, ok := d.Connectors.Lookup(provider)
	if !ok {
		return nil, false
	}
	inbound, ok := c.(connector.Inbound)
	return inbound, ok
}

// verify returns the provider's id of an arrival, and decodes its body. Of an arrival that does not verify it returns an
// *unverifiedError. Standard Webhooks signs the body as it is sent. Some senders compress what they have signed, so a signature of
// the decoded body counts too.
func (d *Deps) verify(ctx context.Context, conn connector.Inbound, config json.RawMessage, in *incoming, now time.Time) (string, error) {
	secrets, _, err := d.reader.LoadSecrets(ctx, in.company, d.Vault, in.provider)
	if err != nil {
		return "", err
	}
	live := secrets.Live(now)
	if len(live) == 0 {
		return "", unverified("no signing secret is configured")
	}
	arrivalID, err := conn.Verify(config, live, in.request(in.body), now)
	if in.isZipped() {
		sent := err
		decoded, damaged := unzip(ctx, in.body, limitOf(conn, in.header))
		switch {
		case fault.KindOf(damaged) == fault.Unavailable:
			return "", damaged
		case damaged != nil && sent == nil:
			return "", damaged
		case damaged != nil:
			return "", unverified("the signature does not match the compressed body, which cannot be decoded")
		case sent != nil:
			arrivalID, err = conn.Verify(config, live, in.request(decoded), now)
		}
		in.body = decoded
	}
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Unauthenticated {
		return "", unverified(f.Detail)
	}
	return arrivalID, err
}

// reception holds a verified arrival with its actions.
type reception struct {
	incoming
	integration integration.Integration
	mapped      trial.Mapped
	receipt     string
	now         time.Time
	sandboxed   bool
	earlier     earlier // what became of the same arrival before
}

// apply plans every action and commits effects, decisions and receipt together. In the sandbox it commits the decisions, a
// receipt of the sandbox, so that the same arrival can take effect after the certification, and the arrival for the inbox.
//
// The receipt of an arrival that was received before stops the commit. If the whole arrival took effect, this one is a repeat.
// Otherwise, what took no effect is decided again.
func (d *Deps) apply(ctx context.Context, r *reception) (answer, error) {
	streak := d.streaks.find(keyOf(r.company, arrival.OwnerOf(r.integration)))
	planner := intake.Planner{
		Company: r.company, Integration: r.integration, Engine: d.Engine, Now: r.now, DryRun: r.sandboxed,
		Presume: d.Presume && !r.sandboxed && streak.long(),
	}
	for range maxTries {
		planned, err := planner.PlanAll(ctx, r.mapped.Actions)
		if err != nil {
			return answer{}, err
		}
		out, same := r.conclude(planned)
		if same {
			return out, nil
		}
		ops, err := r.ops(ctx, out)
		if err != nil {
			return answer{}, err
		}
		err = r.company.Commit(ctx, ops...)
		var conflict *store.ConflictError
		switch {
		case err == nil:
			streak.note(planned)
			return out, nil
		case errors.Is(err, store.ErrTooLarge):
			return answer{}, fault.New(fault.TooLarge, "the arrival's actions and decisions are too large together; send fewer at once")
		case !errors.As(err, &conflict):
			return answer{}, store.Fault(err, "")
		case conflict.Key == r.receipt:
			if r.earlier, err = r.recall(ctx); err != nil {
				return answer{}, err
			}
			if r.earlier.version > 0 && r.earlier.IsFinal() {
				return answer{duplicate: true, sandboxed: r.sandboxed, none: noneRepeated}, nil
			}
		}
		planner.Presume = false
	}
	return answer{}, errBusy()
}

// record returns the writes that store decisions: one each, or one for all if the commit has no room for as many.
func record(c store.Company, decisions []policy.Decision, room int) []store.Op {
	if len(decisions) > room {
		return []store.Op{policy.CreatePage(c, decisions)}
	}
	ops := make([]store.Op, len(decisions))
	for n, d := range decisions {
		ops[n] = policy.Create(c, d)
	}
	return ops
}

// errBusy asks the sender to retry.
func errBusy() error {
	e := fault.New(fault.Unavailable, "too many arrivals change the same items at once; send this one again")
	e.RetryAfter = time.Second
	return e
}

// ops returns the writes of an arrival.
func (r *reception) ops(ctx context.Context, a answer) ([]store.Op, error) {
	ops := []store.Op{{}} // first the receipt: of several conflicts, its own tells of a repeat
	var decisions []policy.Decision
	for n := range a.planned {
		p := &a.planned[n]
		if r.earlier.did(a.planned, n) {
			continue
		}
		decisions = append(decisions, p.Decision)
		if !r.sandboxed {
			ops = append(ops, p.Ops...)
		}
	}
	decided := record(r.company, decisions, store.MaxOps-len(ops))
	ops[0] = r.settle(a, decided)
	ops = append(ops, decided...)
	if !r.sandboxed {
		return ops, nil
	}
	kept, err := inbox.Add(ctx, r.company, arrival.OwnerOf(r.integration), r.received(r.mapped.Result(a.planned)))
	return append(ops, kept...), err
}

// settle returns the write of the receipt, given those of the decisions. The change feed shows the receipt of an arrival that took effect, and
// in it how much was decided. Of any other arrival it shows the decisions.
func (r *reception) settle(a answer, decided []store.Op) store.Op {
	body := a.receipt(r)
	if a.none == "" {
		body.Decided = &arrival.Decided{Items: int64(len(decided))}
		for n := range decided {
			decided[n] = decided[n].Quietly()
			body.Decided.Bytes += int64(len(decided[n].Body))
		}
	}
	receipt := r.company.Save(r.receipt, arrival.ReceiptEntity, r.earlier.version, body).Until(r.now.Add(arrival.ReceiptKept))
	receipt.Quiet = a.none != ""
	return receipt
}

// digestOf binds a provider's arrival id to the body. The id is empty if the signature does not cover it: a captured body
// under another id has the same digest.
func digestOf(arrivalID string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(digestHead(arrivalID)))
	h.Write(body)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func digestHead(arrivalID string) string { return strconv.Itoa(len(arrivalID)) + ":" + arrivalID + ":" }
