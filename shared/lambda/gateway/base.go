package gateway

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// divide tells what a client asked for from the base path before it, and leaves the event with the first. The base path is
// the stage at the API's own address, and what a custom domain maps to the stage at its; the context's path is what the
// client wrote, and so is the event's, save that the stage at the API's own address is missing there. How much of either is
// base path follows from the resource, which is the pattern of the rest.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
func divide(e *events.APIGatewayProxyRequest) (base string) {
	_, e.Path = cut(e.Path, e.Resource)
	base, _ = cut(e.RequestContext.Path, e.Resource)
	return base
}

// cut divides a path before the end that fits the pattern. One that does not fit has no base.
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
