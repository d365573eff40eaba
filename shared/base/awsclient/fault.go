package awsclient

import (
	"errors"
	"net/http"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ServerFault reports by the status of the response whether an error is the service's fault; the SDK's clients know few such
// errors by code. answered is false without a response.
func ServerFault(err error) (server, answered bool) {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) {
		return false, false
	}
	return answer.HTTPStatusCode() >= http.StatusInternalServerError, true
}
