package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

// ProblemType explains one problem type (RFC 9457 §4).
type ProblemType struct {
	Type    string `json:"type" format:"uri-reference" doc:"The type member of such problems" example:"/problems/not-found"`
	Title   string `json:"title" doc:"The title member of such problems" example:"Not found"`
	Status  int    `json:"status" format:"int32" doc:"The HTTP status code" example:"404"`
	Meaning string `json:"meaning" doc:"What has happened" example:"There is no such resource, or it belongs to another company."`
	Remedy  string `json:"remedy" doc:"What the caller can do" example:"Check the path and the ids."`
	Detail  string `json:"detail" doc:"The detail member of such a problem, for example" example:"webhook is not configured"`
}

type problemTypeOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         ProblemType
}

// RegisterProblemTypes adds the operation that explains a problem type, under the tag. The path is the type of the problem.
func RegisterProblemTypes(api huma.API, tag string) {
	Register(api, AuditedWrites(Public(huma.Operation{
		OperationID: "get-problem-type", Method: http.MethodGet, Path: problemsPath + "{kind}", Tags: []string{tag},
		Summary:     "Explain a problem type",
		Description: "The type member of every error is the path of this operation. The types: " + strings.Join(kindNames(), ", ") + ".",
	})), getProblemType)
}

func getProblemType(_ context.Context, in *struct {
	Kind string `path:"kind" maxLength:"64" doc:"The last segment of the type" example:"not-found"`
}) (*problemTypeOutput, error) {
	for _, k := range problemKinds() {
		if k.kind.String() == in.Kind {
			return &problemTypeOutput{CacheControl: "public, max-age=3600", Body: ProblemType{
				Type: k.typeURI(), Title: k.title, Status: k.status, Meaning: k.meaning, Remedy: k.remedy, Detail: k.example,
			}}, nil
		}
	}
	return nil, fault.Newf(fault.NotFound, "there is no such problem type; known are %s", strings.Join(kindNames(), ", "))
}

func kindNames() []string {
	names := []string{}
	for _, k := range problemKinds() {
		names = append(names, k.kind.String())
	}
	return names
}
