// Package errtest ends tests on unexpected errors and reads expected ones.
package errtest

import "testing"

// Must ends the test if err is not nil. Use it for steps that a test needs but does not test.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Message returns the text of err, and "" for nil. It lets a test compare an error's text in one condition.
func Message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
