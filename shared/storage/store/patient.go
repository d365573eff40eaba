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

// Yielding returns a context for commits of work that has waited for its turn, such as a page of a sync. They let the commits of requests
// go first, but wait for no more of them to come.
func Yielding(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, yielding)
}

// Patient reports whether a commit under ctx may wait. Drivers call it.
func Patient(ctx context.Context) bool { return ctx.Value(patientKey{}) != nil }

// Yields reports whether a commit under ctx only lets others go first. Drivers call it.
func Yields(ctx context.Context) bool { return ctx.Value(patientKey{}) == yielding }
