package functions

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/web"
)

// widget describes one widget of the dashboard in the document.
type widget struct {
	id, schema string
	data       reflect.Type
	about      string // of its data
}

func widgets() []widget {
	return []widget{
		{"health", "HealthWidget", reflect.TypeFor[assessment.HealthScore](), "The health of the company, as get-health answers it"},
		{"readiness", "ReadinessWidget", reflect.TypeFor[assessment.Readiness](), "The readiness of the company, as get-readiness answers it"},
		{"goals", "GoalsWidget", reflect.TypeFor[projection.Goals](), "Goals by state and alignment; the first ten open ones are listed"},
		{"memory", "MemoryWidget", reflect.TypeFor[projection.Memory](), "How many memories there are, and how fresh they are"},
		{"deliveries", "DeliveriesWidget", reflect.TypeFor[assessment.DeliverySeries](), "Delivery attempts of 24 hours and of 30 days, and the deliveries that wait"},
		{"attention", "AttentionWidget", reflect.TypeFor[assessment.Listing[assessment.Need]](), "What needs a person, the worst first"},
		{"integrations", "IntegrationsWidget", reflect.TypeFor[assessment.Listing[assessment.ConnectorSummary]](), "The integrations of the company"},
		{"recommendations", "RecommendationsWidget", reflect.TypeFor[assessment.Listing[assessment.Recommendation]](), "The ten most urgent recommendations"},
		{"approvals", "ApprovalsWidget", reflect.TypeFor[assessment.ApprovalCounts](), "The approvals that wait, and those that nobody answered"},
		{"timeline", "TimelineWidget", reflect.TypeFor[assessment.Listing[timeline.Entry]](), "The newest ten entries of the timeline"},
	}
}

// documentWidgets gives each widget a schema with its own data. A reader tells them apart by their id.
func documentWidgets(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	common := schemas.Map()["Widget"]
	if common == nil {
		return
	}
	either := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "id", Mapping: map[string]string{}}}
	for _, w := range widgets() {
		one := *common
		one.Properties = map[string]*huma.Schema{}
		for name, property := range common.Properties {
			copied := *property
			one.Properties[name] = &copied
		}
		one.Properties["id"].Enum = []any{w.id}
		one.Properties["data"] = &huma.Schema{Ref: schemas.Schema(w.data, true, "").Ref, Description: w.about}
		schemas.Map()[w.schema] = &one
		ref := web.ComponentRef(w.schema)
		either.OneOf, either.Discriminator.Mapping[w.id] = append(either.OneOf, &huma.Schema{Ref: ref}), ref
	}
	schemas.Map()["Widget"] = either
}
