package awsclient

import (
	"errors"
	"net/http"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ServerFault reports whether an error is the service's own fault, by the status of its answer: which errors those are, the
// clients know of few. answered is false where there was no answer.
func ServerFault(err error) (server, answered bool) {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) {
		return false, false
	}
	return answer.HTTPStatusCode() >= http.StatusInternalServerError, true
}
