//go:build race

package webfeed

// more is how much more the package may allocate under the race detector: at most 6.7 times as much was measured. There sync.Pool
// drops items at random, so regular expressions allocate their machines again.
const more = 8
