package functions_test

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

func document(t *testing.T) *huma.OpenAPI {
	t.Helper()
	return serverOf(t).Document()
}

// serverOf returns a server with every group.
func serverOf(t *testing.T) *web.Server {
	t.Helper()
	h := webtest.New(t)
	client := outbound.New(outbound.Options{})
	functions.Mount(h.API(), boot.New(boot.Parts{
		Store: h.Store, Vault: h.Vault, Client: client, Connectors: catalog.All(client, time.Now),
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, Engine: policyengine.New(time.Now),
	}))
	return h.Server
}

// TestMount_Widgets gives the data of each widget its own schema, found by the widget's id. The widgets of health and
// readiness have the schema of the route that they summarise.
func TestMount_Widgets(t *testing.T) {
	t.Parallel()
	doc := document(t)
	schemas := doc.Components.Schemas.Map()
	dashboard := assessment.DashboardOf(projection.Empty("acme"), time.Now(), "")
	ids := map[string]bool{}
	for _, w := range dashboard.Widgets {
		ids[w.ID] = true
	}
	discriminator := schemas["Widget"].Discriminator
	if discriminator == nil {
		t.Fatal("the schema Widget has no discriminator, want one by id")
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(ids)), slices.Sorted(maps.Keys(discriminator.Mapping))); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
	data := map[string]string{}
	for id, ref := range discriminator.Mapping {
		one := schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
		if diff := cmp.Diff([]any{id}, one.Properties["id"].Enum); diff != "" {
			t.Errorf("%s: its id differs (-want +got):\n%s", ref, diff)
		}
		data[id] = one.Properties["data"].Ref
		if schemas[strings.TrimPrefix(data[id], "#/components/schemas/")] == nil {
			t.Errorf("%s: data is of %q, want a schema of the document", ref, data[id])
		}
	}
	for id, path := range map[string]string{"health": "/mission-control/health", "readiness": "/mission-control/readiness"} {
		answer := doc.Paths["/companies/{companyId}"+path].Get.Responses["200"].Content["application/json"].Schema
		if got, want := data[id], answer.Ref; got != want {
			t.Errorf("data of %s is of %s, want that of %s %s: %s", id, got, http.MethodGet, path, want)
		}
	}
}
