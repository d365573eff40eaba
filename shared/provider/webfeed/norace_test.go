//go:build !race

package webfeed

// more is 1 without the race detector.
const more = 1
