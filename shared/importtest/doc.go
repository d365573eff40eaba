// Package importtest holds the rules of who may import whom, as tests over the module's own source. The rules are data
// in rules_test.go; an exception is a row there, with its reason.
package importtest
