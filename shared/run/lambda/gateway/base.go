package gateway

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// divide returns the base path of a request, and removes it from e.Path. At the API's own address the base path is the
// stage. At a custom domain the base path is the part that the domain maps to the stage. RequestContext.Path holds the path
// of the client's request. At the API's own address e.Path lacks the stage; elsewhere both paths are equal. e.Resource
// holds the pattern of the path after the base path, so it shows where the base path ends.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
func divide(e *events.APIGatewayProxyRequest) (base string) {
	_, e.Path = cut(e.Path, e.Resource)
	base, _ = cut(e.RequestContext.Path, e.Resource)
	return base
}

// cut splits a path into a base and a rest that matches the pattern. A path without such a rest has no base.
func cut(path, pattern string) (base, rest string) {
	asked, fixed := strings.Split(strings.TrimSuffix(path, "/"), "/"), strings.Split(pattern, "/")
	more := len(asked) - len(fixed)
	if more <= 0 || pattern == "" {
		return "", path
	}
	for i, segment := range fixed {
		if i > 0 && !strings.HasPrefix(segment, "{") && segment != asked[more+i] {
			return "", path
		}
	}
	base = strings.Join(asked[:more+1], "/")
	return base, path[len(base):]
}
