package functions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/web"
)

// enumeration names a list of values that several schemas share, so that a generated client has one type for it.
type enumeration struct {
	name, values, about string
}

func enumerations() []enumeration {
	return []enumeration{
		{"AlignmentStatus", "aligned,drifting,misaligned", "Whether an open goal will be reached in time"},
		{"DeliveryState", "delivered,scheduled,held,failed,dead", "The state of a delivery: dead if its last attempt failed, held until it is recovered"},
		{"DisableReason", "manual,gone,failing", "Who disabled an integration: a user (manual), the endpoint with a 410 (gone), or the service after days of failures (failing)"},
		{"GoalState", "open,closed", "Whether a goal is still worked on"},
		{"HoldReason", "sandbox,disabled,deleted,configuration", "Why a delivery is held: the state of its integration when the event happened"},
		{"IntegrationState", "sandbox,certified", "Whether an integration is certified"},
		{"Priority", "P1,P2,P3,P4", "How urgent a recommendation is; P1 is the most urgent"},
		{"SandboxReason", "configuration,expired,failing", "Why an integration returned to the sandbox"},
		{"SyncMode", "sandbox,live", "Whether a sync stores what it fetches"},
		{"SyncState", "requested,running,succeeded,failed,cancelled", "The state of a sync"},
		{
			"TimelineKind", "integration.configured,integration.certified,integration.sandboxed,integration.disabled,memory.synced," +
				"goal.updated,goal.alignment.changed,policy.denied,note", "What an entry of the timeline is about",
		},
		{"WidgetKind", "score,count,series,list", "How to draw a widget of the dashboard"},
	}
}

// describeSchemas writes the description of each schema into the document.
func describeSchemas(doc *huma.OpenAPI) {
	for name, about := range descriptions() {
		if s := doc.Components.Schemas.Map()[name]; s != nil {
			s.Description = about
		}
	}
}

// nameEnumerations adds each enumeration to the document as a component, and replaces each use by a reference.
func nameEnumerations(doc *huma.OpenAPI) {
	named := map[string]string{}
	schemas := doc.Components.Schemas.Map()
	bodies := slices.Collect(maps.Values(schemas))
	for _, e := range enumerations() {
		var values []any
		for v := range strings.SplitSeq(e.values, ",") {
			values = append(values, v)
		}
		schemas[e.name] = &huma.Schema{Type: huma.TypeString, Enum: values, Description: e.about}
		named[fmt.Sprint(values)] = e.name
	}
	refer := func(s *huma.Schema) *huma.Schema {
		if name := named[fmt.Sprint(s.Enum)]; name != "" {
			return &huma.Schema{Ref: web.ComponentRef(name), Description: s.Description}
		}
		return s
	}
	for _, body := range bodies {
		for name, property := range body.Properties {
			body.Properties[name] = refer(property)
		}
	}
	for _, op := range web.OperationsOf(doc) {
		for _, p := range op.Parameters {
			p.Schema = refer(p.Schema)
		}
	}
}
