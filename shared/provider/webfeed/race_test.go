//go:build race

package webfeed

// more is how much more the race detector makes the package allocate at most: it keeps functions from being inlined.
const more = 8
