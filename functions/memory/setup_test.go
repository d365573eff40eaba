package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/memory"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/catalog"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// service serves the group on a real server and store.
type service struct {
	*webtest.Harness
	t   testing.TB
	now time.Time
}

func setup(t testing.TB) *service {
	t.Helper()
	s := &service{Harness: webtest.New(t), t: t, now: time.Now().UTC().Truncate(time.Millisecond)}
	client := outbound.New(outbound.Options{})
	memory.Register(s.API(), memory.Deps{
		Connectors: catalog.All(client, time.Now),
		Now:        func() time.Time { return s.now },
	})
	return s
}

// do sends a request of company A's founder.
func (s *service) do(method, rest string, body any, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.Do(method, s.at(rest), s.A.Token, body, headers...)
}

func (s *service) at(rest string) string { return "/companies/" + s.A.ID + rest }

func (s *service) company() store.Company { return store.For(s.Store, s.A.ID) }

// put stores an item of company A and overwrites an existing one.
func (s *service) put(key, entity string, body any) {
	s.t.Helper()
	item, err := s.company().Get(s.t.Context(), key, nil)
	if err != nil {
		item.Version = 0
	}
	errtest.Must(s.t, s.company().Commit(s.t.Context(), s.company().Save(key, entity, item.Version, body)))
}

// feed stores a feed integration, in the sandbox or certified.
func (s *service) feed(state integration.State) integration.Integration {
	s.t.Helper()
	i := integration.Integration{
		Provider: "feed", Kind: "feed", State: state, Enabled: true, Config: json.RawMessage(`{"url":"https://example.com/feed"}`),
		Permissions: []integration.Port{integration.SyncPull, integration.MemoryUpsert}, CreatedAt: s.now, UpdatedAt: s.now,
	}
	if state == integration.Certified {
		i.Certification = &integration.Certification{
			PassedAt: s.now, ExpiresAt: s.now.Add(integration.CertifiedFor), Ports: []integration.Port{integration.SyncPull},
		}
	}
	s.put(integration.Key("feed"), integration.Entity, i)
	return i
}

// wantSlot compares the slot of the feed's runs.
func (s *service) wantSlot(want syncrun.Slot) {
	s.t.Helper()
	var got syncrun.Slot
	_, err := s.company().Get(s.t.Context(), syncrun.SlotKey("feed"), &got)
	errtest.Must(s.t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("slot differs (-want +got):\n%s", diff)
	}
}

// page decodes a listing as a client sees it.
type page struct {
	Items []struct {
		ID, Provider, Kind, State, Title string
		Alignment                        struct{ Status string }
	}
	NextCursor string
}

func (p page) ids() []string {
	var ids []string
	for _, i := range p.Items {
		ids = append(ids, i.ID)
	}
	return ids
}

func (s *service) list(rest string) page {
	s.t.Helper()
	var p page
	s.do("GET", rest, nil).Want(200).JSON(&p)
	return p
}
