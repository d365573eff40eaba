package shown

import (
	"cmp"
	"slices"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/arrival"
)

// InboundHealth summarises the webhooks that an integration has received. Any stranger can send what does not verify, so the rate leaves
// that out.
type InboundHealth struct {
	SuccessRate    *float64   `json:"successRate24h" nullable:"true" doc:"share of the verified deliveries of the last 24 hours that were accepted; null: none arrived" example:"0.98"`
	Accepted       int64      `json:"accepted24h" doc:"deliveries of the last 24 hours that were verified and accepted outside of the sandbox, also without effect; a repeat does not count" example:"412"`
	LastAcceptedAt *time.Time `json:"lastAcceptedAt,omitempty" doc:"the newest of them, also before that"`
	Refused        int64      `json:"refused24h" doc:"deliveries of the last 24 hours that the provider has signed and that were refused; of many in a short time, the newest may not be counted yet" example:"8"`
	LastRefusedAt  *time.Time `json:"lastRefusedAt,omitempty" doc:"the newest of them, of the last 7 days"`
	Refusals       []Refusal  `json:"refusals" nullable:"false" doc:"why, most frequent first"`
	Unverified     int64      `json:"unverified24h" doc:"deliveries of the last 24 hours whose signature was not accepted: a stranger sent them, or the provider with another secret" example:"3"`
	Strangers      []Refusal  `json:"unverified" nullable:"false" doc:"why they were not accepted, most frequent first"`
	Ineffective    int64      `json:"withoutEffect24h" doc:"accepted deliveries of the last 24 hours that changed nothing; of many in a short time, the newest may not be counted yet" example:"2"`
	Effectless     []Refusal  `json:"withoutEffect" nullable:"false" doc:"why they changed nothing, most frequent first"`
	Oversized      int64      `json:"oversized24h" doc:"deliveries of the last 24 hours that were too large to be read, so that it is unknown who sent them" example:"0"`
	TooLarge       []Refusal  `json:"oversized" nullable:"false" doc:"which limit they exceeded"`
}

// Refusal counts the deliveries that were refused for one reason.
type Refusal struct {
	Reason string    `json:"reason" doc:"why they were refused or changed nothing, in words" example:"the signature does not match"`
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
		Accepted: taken.Since(from) + refusals.Ineffective.Since(from), Refused: refusals.Verified.Since(from), Unverified: refusals.Unverified.Since(from),
		Refusals: refused(refusals.Verified, from, created), Strangers: refused(refusals.Unverified, from, created),
		Ineffective: refusals.Ineffective.Since(from), Effectless: refused(refusals.Ineffective, from, created),
		Oversized: refusals.Oversized.Since(from), TooLarge: refused(refusals.Oversized, from, created),
		LastAcceptedAt: notBefore(created, wait.Later(taken.Last(), refusals.Ineffective.Last())), LastRefusedAt: notBefore(created, refusals.Verified.Last()),
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

// idle reports whether enough deliveries arrived to tell, also since the integration was last changed, and none took effect.
func (in *InboundHealth) idle(changed time.Time) bool {
	news := func(r Refusal) bool { return !r.LastAt.Before(changed) }
	return in != nil && in.Ineffective >= arrival.Telling && in.Ineffective == in.Accepted && slices.ContainsFunc(in.Effectless, news)
}

// failing reports whether the newest verified delivery was refused, since the integration was last changed.
func (in *InboundHealth) failing(changed time.Time) bool {
	return in != nil && in.LastRefusedAt != nil && !in.LastRefusedAt.Before(changed) &&
		(in.LastAcceptedAt == nil || in.LastAcceptedAt.Before(*in.LastRefusedAt))
}

// accepts reports whether a delivery was accepted.
func (in *InboundHealth) accepts() bool { return in != nil && in.LastAcceptedAt != nil }
