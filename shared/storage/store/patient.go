package store

import "context"

type patientKey struct{}

// How long a commit may wait.
const (
	patient = iota + 1
	yielding
)

// Patiently returns a context for commits that no caller waits for, such as the record of an attempt. A driver may let such a
// commit wait some milliseconds, so that the commits of requests go first.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, patient)
}

// Yielding returns a context for commits of which many come at once without a caller who waits, such as the pages of syncs. A driver may let
// such a commit wait some seconds, if it has many items, so that others do not wait for it.
func Yielding(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, yielding)
}

// Patient reports whether a commit under ctx may wait. Drivers call it.
func Patient(ctx context.Context) bool { return ctx.Value(patientKey{}) != nil }

// Yields reports whether a commit under ctx may wait for seconds. Drivers call it.
func Yields(ctx context.Context) bool { return ctx.Value(patientKey{}) == yielding }
