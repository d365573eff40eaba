package web

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/fault"
)

// refuseEmpty refuses a query parameter that is there without a value, unless any text is a value: huma takes it for
// absent, and ?since= from a script whose variable was empty would list everything.
func refuseEmpty(op *huma.Operation, r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	query := r.URL.Query()
	var problems []fault.Problem
	for _, p := range op.Parameters {
		if p.In != "query" || p.Schema.Type == huma.TypeString && p.Schema.Format == "" && len(p.Schema.Enum) == 0 {
			continue
		}
		if values, there := query[p.Name]; there && values[0] == "" {
			problems = append(problems, fault.Problem{Pointer: "#/query/" + p.Name, Detail: "has no value; give one or leave the parameter out"})
		}
	}
	return fault.Refuse(problems)
}
