package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// TestOwn_Digest gives a company its own manifest, even if another company has stored another manifest under the same digest.
func TestOwn_Digest(t *testing.T) {
	t.Parallel()
	st := webtest.OpenStore(t)
	own := manifest.NewOwn(outbound.New(outbound.Options{}), time.Now)
	right := json.RawMessage(merged(t, valid, `{}`))
	var described struct{ Kind string }
	errtest.Must(t, json.Unmarshal(right, &described))
	wrong := json.RawMessage(merged(t, valid, `{"base":"https://evil.example"}`))
	put := func(company string, raw json.RawMessage) store.Company {
		c := store.For(st, company)
		m := integration.StoredManifest{Kind: described.Kind, Manifest: raw, Digest: connector.Digest(right)}
		errtest.Must(t, c.Commit(t.Context(), integration.SaveManifest(c, 0, m)))
		return c
	}
	a, b := put("a", wrong), put("b", right)
	i := integration.Integration{Kind: described.Kind, Manifest: &integration.ManifestRef{Digest: connector.Digest(right)}}
	for range 2 { // the second time from what is kept
		if _, err := own.Find(t.Context(), a, described.Kind); !strings.Contains(errtest.Message(err), "cannot be used") {
			t.Errorf("the wrong manifest: err = %v, want one that says so", err)
		}
		list, err := own.List(t.Context(), a)
		errtest.Must(t, err)
		if len(list) > 0 {
			t.Errorf("the list has %d connectors, want none", len(list))
		}
		errtest.Must(t, own.Has(t.Context(), a, described.Kind))
		got, err := own.Of(t.Context(), b, i)
		errtest.Must(t, err)
		if origin := connector.Origin(got, nil); strings.Contains(origin, "evil") {
			t.Errorf("the other company's connector leads to %s", origin)
		}
	}
}

// TestOwn_Once compiles a manifest once, for every company and every way to its connector.
func TestOwn_Once(t *testing.T) {
	t.Parallel()
	st := webtest.OpenStore(t)
	own := manifest.NewOwn(outbound.New(outbound.Options{}), time.Now)
	m := integration.StoredManifest{Kind: "pulse", Manifest: json.RawMessage(merged(t, valid, `{}`)), Digest: connector.Digest(json.RawMessage(valid))}
	var first connector.Described
	for _, company := range []string{"a", "b"} {
		c := store.For(st, company)
		errtest.Must(t, c.Commit(t.Context(), integration.SaveManifest(c, 0, m)))
		found, err := own.Find(t.Context(), c, m.Kind)
		errtest.Must(t, err)
		of, err := own.Of(t.Context(), c, integration.Integration{Kind: m.Kind, Manifest: &integration.ManifestRef{Digest: m.Digest}})
		errtest.Must(t, err)
		list, err := own.List(t.Context(), c)
		errtest.Must(t, err)
		if first == nil {
			first = found
		}
		for way, got := range map[string]connector.Described{"Find": found, "Of": of, "List": list[0]} {
			if got != first {
				t.Errorf("company %s: %s makes the connector again, want that of before", company, way)
			}
		}
	}
}
