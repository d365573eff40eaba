// Package fault is the one error of the service: a kind that a transport maps to its own status, a message that
// may be shown to the caller, and a cause that may not.
//
// An error that is not a *fault.Error, and the zero Kind, are Internal: whatever is not known to be public is masked.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what went wrong in the terms of the API's error table. Its text is the last segment of the problem type.
type Kind uint8

// The kinds, each with the HTTP status it becomes.
const (
	Internal             Kind = iota // 500: masked
	Malformed                        // 400: not JSON, a broken escape in the path, a bad header
	Unauthenticated                  // 401: no token, or one that is not accepted
	Forbidden                        // 403: another tenant's, or an unknown company
	InsufficientScope                // 403: RFC 6750
	DeniedByPolicy                   // 403: the policy engine's verdict
	NotFound                         // 404
	MethodNotAllowed                 // 405
	Conflict                         // 409
	SyncRunning                      // 409: a run of this provider is under way
	Stale                            // 412: If-Match does not match
	TooLarge                         // 413
	UnsupportedMediaType             // 415
	Invalid                          // 422: every problem at once
	PreconditionRequired             // 428: If-Match is missing
	QuotaExceeded                    // 429
	Unavailable                      // 503: try again after RetryAfter
)

//nolint:gochecknoglobals // a constant, if arrays could be
var names = [...]string{
	"internal", "malformed", "unauthenticated", "forbidden", "insufficient-scope", "denied-by-policy", "not-found",
	"method-not-allowed", "conflict", "sync-running", "stale", "too-large", "unsupported-media-type", "invalid",
	"precondition-required", "quota-exceeded", "unavailable",
}

// String is the kind's problem type segment, such as "not-found".
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return names[Internal]
}

// Problem is one thing wrong with a request.
type Problem struct {
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the body, or "#/query/limit" and the like
	Detail  string `json:"detail"`  // what is wrong and what would be right; never the value of a credential
}

// Error is the service's error. Detail and Problems are public; the cause is for logs only.
type Error struct {
	Kind       Kind
	Detail     string
	Problems   []Problem
	RetryAfter time.Duration // 0: none; with QuotaExceeded and Unavailable
	cause      error
}

// Error is for logs: it holds the cause, which is not for callers.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Detail, e.cause)
	}
	if len(e.Problems) > 0 {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Detail, e.Problems)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Detail)
}

func (e *Error) Unwrap() error { return e.cause }

// New is an error of a kind with a public detail.
func New(kind Kind, detail string) *Error { return &Error{Kind: kind, Detail: detail} }

// Newf is New with a format; every argument becomes public.
func Newf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Wrap is an error of a kind with a public detail and a private cause.
func Wrap(kind Kind, detail string, cause error) *Error {
	return &Error{Kind: kind, Detail: detail, cause: cause}
}

// Refuse is Invalid with every problem found, or nil where there is none.
func Refuse(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Detail: "the request does not meet its schema; see errors", Problems: problems}
}

// KindOf is the kind of the first *Error in err's chain, Internal where there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
