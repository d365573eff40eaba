package awsclient

import (
	"errors"
	"net/http"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ServerFault reports whether the service is at fault: the response has a status of 500 or more. It looks at the status,
// because the SDK's clients know few server errors by code. answered is false if there was no response.
func ServerFault(err error) (server, answered bool) {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) {
		return false, false
	}
	return answer.HTTPStatusCode() >= http.StatusInternalServerError, true
}
