package store

import "context"

type patientKey struct{}

// Patiently returns a context for commits that no caller waits for, such as the record of an attempt. A driver may let such a
// commit wait some milliseconds, and one of many items some seconds, so that the commits of requests go first.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

// Patient reports whether a commit under ctx may wait. Drivers call it.
func Patient(ctx context.Context) bool { return ctx.Value(patientKey{}) != nil }
