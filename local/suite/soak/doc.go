// Package soak runs the real program while its connections, its disk or its process fail, and counts what each consumer of
// the change feed lost, did twice, and how long it took to recover. Its tests are the package: see README.md.
package soak
