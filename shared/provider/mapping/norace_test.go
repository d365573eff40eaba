//go:build !race

package mapping_test

const raceFactor = 1
