package mapping_test

import (
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/errtest"
)

// rules returns a mapping of a usual size: four conditions fail before the fifth matches and fills six fields.
func rules() mapping.Document {
	with := map[string]string{
		"externalId": `"\(.payload.repository.full_name)/issues/\(.item.number)"`, "kind": `"issue"`,
		"title": `if (.item.title // "" | test("\\S")) then .item.title else "Issue #\(.item.number)" end`,
		"body":  ".item.body", "url": ".item.html_url", "updatedAt": ".item.updated_at",
	}
	d := mapping.Document{}
	for _, event := range []string{"release", "milestone", "discussion", "ping", "issues"} {
		d.Rules = append(d.Rules, mapping.Rule{
			When: `.headers["x-event"] == "` + event + `" and .payload.action != "deleted"`, Each: ".payload.issue",
			Action: integration.MemoryUpsert, With: with,
		})
	}
	return d
}

const issue = `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Broken","body":"It does not start.",
	"html_url":"https://github.com/octo/app/issues/7","updated_at":"2026-05-01T02:00:00Z"}}`

func BenchmarkNew(b *testing.B) {
	d := rules()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mapping.New(d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMapping_Apply_First measures the first arrival, which compiles the expressions that it needs.
func BenchmarkMapping_Apply_First(b *testing.B) {
	in := arrival(b, issue)
	b.ReportAllocs()
	for b.Loop() {
		m, err := mapping.New(rules())
		errtest.Must(b, err)
		if _, err := m.Apply(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMapping_Apply(b *testing.B) {
	m, in := parse(b, rules()), arrival(b, issue)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Apply(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
