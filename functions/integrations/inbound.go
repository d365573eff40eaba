package integrations

import (
	"cmp"
	"slices"
	"time"

	"orgops/shared/domain/arrival"
)

// InboundHealth summarises the webhooks that an integration has received. Any stranger can send what does not verify, so the rate leaves
// that out.
type InboundHealth struct {
	SuccessRate    *float64   `json:"successRate24h" nullable:"true" doc:"share of the verified deliveries of the last 24 hours that were accepted; null: none arrived" example:"0.98"`
	Accepted       int64      `json:"accepted24h" doc:"deliveries of the last 24 hours that were verified and accepted outside of the sandbox; a repeat does not count" example:"412"`
	LastAcceptedAt *time.Time `json:"lastAcceptedAt,omitempty" doc:"the newest of them, also before that"`
	Refused        int64      `json:"refused24h" doc:"deliveries of the last 24 hours that the provider has signed and that were refused; of many in a short time, the newest may not be counted yet" example:"8"`
	LastRefusedAt  *time.Time `json:"lastRefusedAt,omitempty" doc:"the newest of them, of the last 7 days"`
	Refusals       []Refusal  `json:"refusals" nullable:"false" doc:"why, most frequent first"`
	Unverified     int64      `json:"unverified24h" doc:"deliveries of the last 24 hours whose signature was not accepted: a stranger sent them, or the provider with another secret" example:"3"`
	Strangers      []Refusal  `json:"unverified" nullable:"false" doc:"why they were not accepted, most frequent first"`
}

// Refusal counts the deliveries that were refused for one reason.
type Refusal struct {
	Reason string    `json:"reason" doc:"why they were refused, in words" example:"the signature does not match"`
	Count  int64     `json:"count24h" doc:"how many in the last 24 hours" example:"3"`
	LastAt time.Time `json:"lastAt" doc:"the newest"`
}

// inboundHealth leaves out what an integration of the same name received that was deleted.
func inboundHealth(taken arrival.Hours, refusals arrival.Refusals, created, now time.Time) *InboundHealth {
	from := now.Add(-24 * time.Hour)
	if created.After(from) {
		from = created
	}
	in := &InboundHealth{
		Accepted: taken.Since(from), Refused: refusals.Verified.Since(from), Unverified: refusals.Unverified.Since(from),
		Refusals: refused(refusals.Verified, from, created), Strangers: refused(refusals.Unverified, from, created),
		LastAcceptedAt: notBefore(created, taken.Last()), LastRefusedAt: notBefore(created, refusals.Verified.Last()),
	}
	if all := in.Accepted + in.Refused; all > 0 {
		rate := float64(in.Accepted) / float64(all)
		in.SuccessRate = &rate
	}
	return in
}

// refused lists the reasons for refusals since an integration was created.
func refused(counts arrival.Counts, from, created time.Time) []Refusal {
	all := []Refusal{}
	for _, reason := range counts.Reasons() {
		if last := notBefore(created, counts[reason].Last()); last != nil {
			all = append(all, Refusal{reason, counts[reason].Since(from), *last})
		}
	}
	slices.SortStableFunc(all, func(a, b Refusal) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// notBefore returns t, or nil if it is before first.
func notBefore(first, t time.Time) *time.Time {
	if t.Before(first) {
		return nil
	}
	return moment(t)
}

// failing reports whether the newest verified delivery was refused, since the integration was last changed.
func (in *InboundHealth) failing(changed time.Time) bool {
	return in != nil && in.LastRefusedAt != nil && !in.LastRefusedAt.Before(changed) &&
		(in.LastAcceptedAt == nil || in.LastAcceptedAt.Before(*in.LastRefusedAt))
}

// accepts reports whether a delivery was accepted.
func (in *InboundHealth) accepts() bool { return in != nil && in.LastAcceptedAt != nil }
