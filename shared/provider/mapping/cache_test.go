package mapping_test

import (
	"encoding/json"
	"strings"
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// TestCache_Digest gives a company its own mapping, even if another company has stored another mapping under the same digest.
func TestCache_Digest(t *testing.T) {
	t.Parallel()
	st, cache := webtest.OpenStore(t), new(mapping.Cache)
	of := func(title string) json.RawMessage {
		return json.RawMessage(`{"rules":[{"when":"true","action":"timeline.note","with":{"title":"\"` + title + `\""}}]}`)
	}
	i := integration.Integration{Provider: "webhook", Kind: "webhook", Mapping: &integration.MappingRef{Digest: connector.Digest(of("right"))}}
	put := func(company string, raw json.RawMessage) store.Company {
		c := store.For(st, company)
		errtest.Must(t, c.Commit(t.Context(), integration.SaveMapping(c, i.Provider, 0, integration.StoredMapping{Mapping: raw, Digest: i.Mapping.Digest})))
		return c
	}
	a, b := put("a", of("wrong")), put("b", of("right"))
	if _, err := cache.Of(t.Context(), a, i, nil); !strings.Contains(errtest.Message(err), "another mapping") {
		t.Errorf("the wrong mapping: err = %v, want one about another mapping", err)
	}
	m, err := cache.Of(t.Context(), b, i, nil)
	errtest.Must(t, err)
	matches, err := m.Apply(t.Context(), mapping.Arrival{})
	errtest.Must(t, err)
	if got, _ := json.Marshal(mapping.Actions(matches)); !strings.Contains(string(got), "right") {
		t.Errorf("actions %s, want those of the company's own mapping", got)
	}
}
