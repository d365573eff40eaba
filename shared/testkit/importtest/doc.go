// Package importtest checks which package may import which, by tests over the module's source. The rules are tables in
// groups_test.go and rules_test.go; an exception is a row there, with its reason.
package importtest
