// Package importtest holds tests that read the module's source and check which package imports which. The rules are tables
// in groups_test.go and rules_test.go. An exception is a row in these tables, with its reason.
package importtest
