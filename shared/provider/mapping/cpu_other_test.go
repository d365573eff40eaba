//go:build !linux

package mapping_test

import (
	"testing"
	"time"
)

// cpuTime returns the time that f takes.
func cpuTime(_ testing.TB, f func()) time.Duration {
	before := time.Now()
	f()
	return time.Since(before)
}
