// Package errtest ends tests on unexpected errors.
package errtest

import "testing"

// Must ends the test if err is not nil. Use it for steps that a test needs but does not test.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
