package inbound_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/inbound"
	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// owner names the incarnation of company A's integration.
func (s *service) owner(provider string) arrival.Owner {
	s.t.Helper()
	i, _, err := integration.Load(s.t.Context(), s.company(), provider)
	errtest.Must(s.t, err)
	return arrival.OwnerOf(i)
}

// refusals returns the stored counts of company A's integration: by reason, those of verified arrivals and the others.
func (s *service) refusals(provider string) (verified, unverified map[string]int64) {
	s.t.Helper()
	stored, err := arrival.Load(s.t.Context(), s.company(), s.owner(provider))
	errtest.Must(s.t, err)
	of := func(counts arrival.Counts) map[string]int64 {
		sums := map[string]int64{}
		for reason, hours := range counts {
			sums[reason] = hours.Since(time.Time{})
		}
		return sums
	}
	return of(stored.Verified), of(stored.Unverified)
}

func (s *service) wantRefusals(provider string, verified, unverified map[string]int64) {
	s.t.Helper()
	gotVerified, gotUnverified := s.refusals(provider)
	if diff := cmp.Diff(verified, gotVerified); diff != "" {
		s.t.Errorf("refused verified arrivals of %s differ (-want +got):\n%s", provider, diff)
	}
	if diff := cmp.Diff(unverified, gotUnverified); diff != "" {
		s.t.Errorf("refused unverified arrivals of %s differ (-want +got):\n%s", provider, diff)
	}
}

const other = "whsec_FxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA"

// TestRefusals counts what is refused, by reason, and apart whether the provider has signed it. It counts neither a repeat of a
// refused arrival, nor what names no configured integration.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.send("webhook", secret, "d1", upsert).Want(202)
	s.wantRefusals("webhook", map[string]int64{}, map[string]int64{})

	s.send("webhook", other, "d2", upsert).Want(401)
	s.post("/inbound/"+s.A.ID+"/webhook", upsert).Want(401)
	s.send("webhook", secret, "d3", `{"type":"`+strings.Repeat("x", 1<<20)+`"}`).Want(413)
	stored, err := arrival.Load(t.Context(), s.company(), s.owner("webhook"))
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"the body is larger than 1048576 bytes; send fewer or shorter items at once"}, stored.Oversized.Reasons()); diff != "" {
		t.Errorf("reasons of oversized arrivals differ (-want +got):\n%s", diff)
	}
	s.post("/inbound/"+id.New()+"/webhook", upsert).Want(401)
	s.post("/inbound/"+s.A.ID+"/webhook-b", upsert).Want(401)
	s.post("/inbound/"+s.A.ID+"/webhook-b", strings.Repeat("x", 2<<20)).Want(413)
	s.wantRefusals("webhook", map[string]int64{}, map[string]int64{
		"no v1 signature matches": 1, "the webhook-signature header is missing": 1,
	})
	s.wantItems("REFUSALS#", 1)

	s.clock.Advance(time.Hour)
	for range 3 { // a repeat counts once
		s.send("webhook", secret, "d4", `{"type":"memory.delete","data":{}}`).Want(422)
	}
	s.clock.Advance(time.Hour)
	s.send("webhook", secret, "d5", `{"type":`).Want(400)
	s.govern(`forbid (principal, action, resource);`)
	denied := s.sent(s.send("webhook", secret, "d6", upsert), 202)
	s.wantReceipt(denied, "memory.upsert denied refused")
	s.wantReceipt(s.sent(s.send("webhook", secret, "d6", upsert), 202), "memory.upsert denied refused")
	s.integrations("POST", "/webhook/disable", nil).Want(200)
	s.send("webhook", secret, "d7", upsert).Want(409)
	verified, _ := s.refusals("webhook")
	want := map[string]int64{
		"the mapping refused it": 1, "the body could not be read": 1, "the integration was disabled": 1,
	}
	if diff := cmp.Diff(want, verified); diff != "" {
		t.Errorf("refused verified arrivals differ (-want +got):\n%s", diff)
	}
	if got := len(items[struct{}](s, arrival.ReceiptPrefix(s.owner("webhook")))); got != 2 {
		t.Errorf("%d receipts of accepted arrivals, want 2: of the first arrival, and of the denied one", got)
	}
}

// TestRefusals_Sandbox leaves what the sandbox refuses to the inbox, and counts what does not verify.
func TestRefusals_Sandbox(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("webhook", func(i *integration.Integration) { *i = i.Sandboxed("configuration", s.clock.Now()) })
	s.send("webhook", secret, "d1", `{"type":"memory.delete","data":{}}`).Want(422)
	s.send("webhook", other, "d2", upsert).Want(401)
	s.wantRefusals("webhook", map[string]int64{}, map[string]int64{"no v1 signature matches": 1})
}

// TestRefusals_Flood bounds what a stranger can make the service write: five counts at first, then one a minute, into one item. Every refusal is counted in the end.
func TestRefusals_Flood(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.commits.take()
	send := func(n int) {
		for range n {
			s.send("webhook", other, "d", upsert).Want(401)
		}
	}
	wantCounts := func(want int) {
		t.Helper()
		counts, others := s.commits.split()
		if got, want := [2]int{counts, others}, [2]int{want, 0}; got != want {
			t.Errorf("%v commits of counts and of others, want %v", got, want)
		}
	}
	send(200)
	wantCounts(5)
	for range 3 {
		s.clock.Advance(time.Minute)
		send(50)
		wantCounts(1)
	}
	s.clock.Advance(time.Minute)
	s.send("webhook", secret, "good", upsert).Want(202) // writes what waits, too
	counts, others := s.commits.split()
	if got, want := [2]int{counts, others}, [2]int{1, 1}; got != want {
		t.Errorf("%v commits of counts and of others, want %v", got, want)
	}
	s.wantRefusals("webhook", map[string]int64{}, map[string]int64{"no v1 signature matches": 350})
	s.send("webhook", secret, "better", strings.Replace(upsert, "42", "43", 1)).Want(202)
	if got, _ := s.commits.split(); got != 0 {
		t.Errorf("%d commits of counts with an accepted arrival, want none", got)
	}
}

// TestRefusals_StrangersDelayNone counts a signed arrival at once while the counts of strangers wait.
func TestRefusals_StrangersDelayNone(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	for range 6 {
		s.send("webhook", other, "d", upsert).Want(401)
	}
	s.send("webhook", secret, "refused", `{"type":"memory.delete","data":{}}`).Want(422)
	s.wantRefusals("webhook", map[string]int64{"the mapping refused it": 1}, map[string]int64{"no v1 signature matches": 5})
}

// TestRefusals_Processes adds up exactly what many processes count at the same time.
func TestRefusals_Processes(t *testing.T) {
	t.Parallel()
	const processes, each = 20, 5
	s := setup(t)
	s.certified()
	sign := s.signature("webhook", other, "d", upsert)
	var running sync.WaitGroup
	var all []*webtest.Harness
	for range processes {
		h := webtest.New(t)
		all = append(all, h)
		inbound.Register(h.API(), inbound.Deps{
			Company:    func(companyID string) store.Company { return store.For(s.Store, companyID) },
			Connectors: s.services.Connectors, Vault: s.services.Vault, Engine: s.engine, Now: s.clock.Now,
		})
	}
	refused := func(h *webtest.Harness) { h.Do("POST", "/inbound/"+s.A.ID+"/webhook", "", upsert, sign...).Want(401) }
	for _, h := range all {
		running.Go(func() {
			for range each {
				refused(h)
			}
		})
	}
	running.Wait()
	s.clock.Advance(time.Minute)
	for _, h := range all { // one after the other, each writes what it could not write before
		refused(h)
	}
	s.wantRefusals("webhook", map[string]int64{}, map[string]int64{"no v1 signature matches": processes * (each + 1)})
}
