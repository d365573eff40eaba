package gateway

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// divide returns the base path of a request, and removes it from the event's path. At the API's own address the base path
// is the stage; at a custom domain it is the part that the domain maps to the stage. The context's path is the one in the
// client's request. The event's path is the same, but lacks the stage at the API's own address. The resource, which is the
// pattern of the rest, shows how much of either path is the base path.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
func divide(e *events.APIGatewayProxyRequest) (base string) {
	_, e.Path = cut(e.Path, e.Resource)
	base, _ = cut(e.RequestContext.Path, e.Resource)
	return base
}

// cut splits a path before the end that matches the pattern. A path that does not match has no base.
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
