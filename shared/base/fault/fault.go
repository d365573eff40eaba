// Package fault defines the service's error: a kind that a transport maps to its status, a public detail, and a private
// cause.
//
// The zero Kind is Internal, and every error that is not a *fault.Error counts as Internal. Transports mask Internal errors,
// so a client sees only errors that are marked as public.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error by the API's error table. Its text is the last segment of the problem type.
type Kind uint8

// Kinds and the HTTP status of each.
const (
	Internal             Kind = iota // 500: masked
	Malformed                        // 400: not JSON, a broken escape in the path, a bad header
	Unauthenticated                  // 401: no token, or an invalid one
	SecondFactorRequired             // 401: the password is right, and the person has a second factor
	Forbidden                        // 403: an unknown company, or one of another tenant
	InsufficientScope                // 403: RFC 6750
	DeniedByPolicy                   // 403: the policy engine's verdict
	PlanRequired                     // 403: the company's plan does not include the operation
	Suspended                        // 403: a write of a suspended company
	NotFound                         // 404
	MethodNotAllowed                 // 405
	Conflict                         // 409
	SyncRunning                      // 409: a sync of this provider is running
	ApprovalDecided                  // 409: the approval was decided before, or has expired
	Stale                            // 412: If-Match does not match
	Exists                           // 412: If-None-Match asked to replace nothing
	TooLarge                         // 413
	UnsupportedMediaType             // 415
	Invalid                          // 422: every problem at once
	PreconditionRequired             // 428: If-Match is missing
	QuotaExceeded                    // 429
	Unavailable                      // 503: retry after RetryAfter
)

//nolint:gochecknoglobals // Go has no constant arrays
var names = [...]string{
	"internal", "malformed", "unauthenticated", "second-factor-required", "forbidden", "insufficient-scope", "denied-by-policy", "plan-required", "suspended", "not-found",
	"method-not-allowed", "conflict", "sync-running", "approval-decided", "stale", "already-exists", "too-large", "unsupported-media-type", "invalid",
	"precondition-required", "quota-exceeded", "unavailable",
}

// String returns the kind's problem type segment, such as "not-found".
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return names[Internal]
}

// FieldError describes one mistake in a request.
type FieldError struct {
	Pointer string `json:"pointer" doc:"JSON Pointer (RFC 6901) into the body, or a fragment for another part of the request, such as #/query/limit" example:"/url"` // JSON Pointer (RFC 6901) into the body, or "#/query/limit" and the like
	Detail  string `json:"detail" doc:"the mistake in this part of the request, and its correction" example:"must be https"`                                         // the mistake and its correction; never the value of a credential
}

// Error carries a failure through the service. Kind, Detail and Problems are public; the cause is only for logs.
type Error struct {
	Kind       Kind
	Detail     string
	Problems   []FieldError
	RetryAfter time.Duration // for QuotaExceeded and Unavailable; 0: not stated
	Decision   string        // for DeniedByPolicy: id of the policy engine's decision
	Challenge  *Challenge    // for SecondFactorRequired: what the second factor is sent with; nil: log in instead
	Current    string        // for Stale and Exists: the entity tag of the stored version; "": nothing is stored
	cause      error
}

// Challenge asks a person who has proved a password for a second factor. It counts once.
type Challenge struct {
	ID        string    `json:"id" doc:"sent with the second factor to POST /auth/challenge, once" example:"5MZ2NXQ4RBL6T3WUK7VYJ2CDPE"`
	Factors   []string  `json:"factors" nullable:"false" doc:"the kinds of second factors that the person has: totp, passkey, recovery-code" example:"[\"totp\",\"recovery-code\"]"`
	ExpiresAt time.Time `json:"expiresAt" doc:"when the challenge counts no more"`

	PublicKey *PasskeyRequest `json:"publicKey,omitempty" doc:"what navigator.credentials.get takes as publicKey, once it is parsed from this JSON; absent if the person has no passkey"`
}

// Error returns a text for logs. It contains the private cause.
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

// New returns an error with a public detail.
func New(kind Kind, detail string) *Error { return &Error{Kind: kind, Detail: detail} }

// Newf formats the detail like fmt.Sprintf; every argument becomes public.
func Newf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with a public detail and a private cause.
func Wrap(kind Kind, detail string, cause error) *Error {
	return &Error{Kind: kind, Detail: detail, cause: cause}
}

// Refuse returns an Invalid error with all problems, or nil if the list is empty.
func Refuse(problems []FieldError) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Detail: "the request does not meet its schema; see errors", Problems: problems}
}

// RefuseAt returns an Invalid error with one problem.
func RefuseAt(pointer, detail string) error {
	return Refuse([]FieldError{{Pointer: pointer, Detail: detail}})
}

// KindOf returns the kind of the first *Error in err's chain, or Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
