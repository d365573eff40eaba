package functions

import (
	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/insight/assessment"
)

// documentRules shows the rules of recommendations as examples. The list is not closed, because later versions add rules.
func documentRules(doc *huma.OpenAPI) {
	recommendation := doc.Components.Schemas.Map()["Recommendation"]
	if recommendation == nil {
		return
	}
	rule := recommendation.Properties["rule"]
	rule.Examples = nil
	for _, name := range assessment.Rules() {
		rule.Examples = append(rule.Examples, name)
	}
}
