package web

import "orgops/shared/base/fault"

// problemKind explains one kind of problem for the document and for get-problem-type.
type problemKind struct {
	kind    fault.Kind
	status  int
	title   string
	meaning string // what has happened
	remedy  string // what the caller can do
	example string // a detail of such a problem
}

// problemKinds returns the table of all kinds. If several kinds have the same status, the document shows the first. The
// table is an array, so that reading it for an answer allocates nothing.
func problemKinds() [22]problemKind {
	return [...]problemKind{
		{kind: fault.Malformed, status: 400, title: "Malformed request", meaning: "The request cannot be read: its body is not JSON, its path holds a broken escape, or a header has the wrong form.",
			remedy: "Correct the form of the request that detail names.", example: "the body is not JSON"},
		{kind: fault.Unauthenticated, status: 401, title: "Not authenticated", meaning: "The access token is missing, expired or not valid here, or the signature of a webhook was not accepted.",
			remedy: "Log in again and send the new token as Authorization: Bearer.", example: "the access token has expired"},
		{kind: fault.SecondFactorRequired, status: 401, title: "Second factor required", meaning: "The password is right, and the person has a second factor. No token was given.",
			remedy: "Send the challenge with a code of the second factor to POST /auth/challenge.", example: "the password is right; send a code of the second factor too"},
		{kind: fault.Forbidden, status: 403, title: "Forbidden", meaning: "The company does not exist, or is not the token's company.",
			remedy: "Use the company id that the login answered.", example: "unknown company, or not the company of this token"},
		{kind: fault.InsufficientScope, status: 403, title: "Insufficient scope", meaning: "The token's role does not allow this operation.",
			remedy: "Ask a founder of the company for a role that has the scope.", example: "this needs the scope integrations:write"},
		{kind: fault.DeniedByPolicy, status: 403, title: "Denied by policy", meaning: "The policy engine denied the action.",
			remedy: "Read the decision's reasons; change the permissions or the policy.", example: "the policy engine denied the action"},
		{kind: fault.PlanRequired, status: 403, title: "Plan required", meaning: "The company's plan does not include the operation.",
			remedy: "Ask the operator of the service for the plan that detail names.", example: "single sign-on needs the plan enterprise"},
		{kind: fault.Suspended, status: 403, title: "Company suspended", meaning: "The operator of the service has suspended the company: it can be read, and nothing of it can be changed.",
			remedy: "Ask the operator of the service to resume the company.", example: "the company is suspended: reads go on, and writes are refused"},
		{kind: fault.NotFound, status: 404, title: "Not found", meaning: "There is no such resource, or it belongs to another company.",
			remedy: "Check the path and the ids.", example: "webhook is not configured"},
		{kind: fault.MethodNotAllowed, status: 405, title: "Method not allowed", meaning: "The path exists and takes other methods.",
			remedy: "Use a method that the Allow header names.", example: "use GET"},
		{kind: fault.Conflict, status: 409, title: "Conflict", meaning: "The state of the resource does not allow the operation now, or another request changed the resource at the same time.",
			remedy: "Read the resource again and repeat.", example: "someone else changed this at the same time; read it again and repeat"},
		{kind: fault.SyncRunning, status: 409, title: "Sync running", meaning: "A sync of this provider is in progress.",
			remedy: "Wait for the sync to end, or cancel it.", example: "a sync of feed is running"},
		{kind: fault.ApprovalDecided, status: 409, title: "Approval decided", meaning: "The approval was decided before, or has expired. An approval is used once.",
			remedy: "Read the approval to see how it ended. If the action is still wanted, its source has to ask for it again.", example: "the approval is approved; it can be decided once, within 24 hours"},
		{kind: fault.Stale, status: 412, title: "Changed since it was read", meaning: "The resource no longer has the entity tag of If-Match.",
			remedy: "Read the resource again, and repeat with its new ETag.", example: "the resource has changed; read it again"},
		{kind: fault.Exists, status: 412, title: "Already exists", meaning: "If-None-Match asked to create the resource, and it exists. Nothing was replaced.",
			remedy: "Choose another name. To replace the resource, send its ETag as If-Match.", example: "there is one already; nothing was replaced"},
		{kind: fault.TooLarge, status: 413, title: "Too large", meaning: "The body is larger than the operation takes.",
			remedy: "Send less: a body has at most 1 MiB.", example: "a body has at most 1048576 bytes"},
		{kind: fault.UnsupportedMediaType, status: 415, title: "Unsupported media type", meaning: "The body is not of a media type that the operation takes.",
			remedy: "Send Content-Type: application/json.", example: "the body must be application/json"},
		{kind: fault.Invalid, status: 422, title: "Invalid request", meaning: "The request does not meet its schema. errors lists every problem, each with a JSON Pointer.",
			remedy: "Correct the fields that errors names.", example: "the request does not meet its schema; see errors"},
		{kind: fault.PreconditionRequired, status: 428, title: "Precondition required", meaning: "The operation needs an If-Match header.",
			remedy: "Read the resource, and send its ETag as If-Match.", example: "send the ETag of the resource as If-Match"},
		{kind: fault.QuotaExceeded, status: 429, title: "Quota exceeded", meaning: "The caller has made too many requests.",
			remedy: "Wait for the seconds that Retry-After gives.", example: "too many tries; wait before the next"},
		{kind: fault.Internal, status: 500, title: "Internal error", meaning: "The service failed. Its log holds the cause, under the request id.",
			remedy: "Repeat; if it fails again, report the instance to the operator.", example: "internal error"},
		{kind: fault.Unavailable, status: 503, title: "Unavailable", meaning: "A part that the service needs does not answer, or is saturated. Nothing was half-written.",
			remedy: "Repeat after the seconds that Retry-After gives.", example: "the store cannot be reached; try again"},
	}
}

// problemsPath begins the type of every problem.
const problemsPath = "/problems/"

// typeURI returns the type member of problems of this kind (RFC 9457).
func (k problemKind) typeURI() string { return problemsPath + k.kind.String() }

// problemKindOf returns the row of a kind, or the row of Internal for a kind without a row.
func problemKindOf(kind fault.Kind) problemKind {
	for _, k := range problemKinds() {
		if k.kind == kind {
			return k
		}
	}
	return problemKindOf(fault.Internal)
}
