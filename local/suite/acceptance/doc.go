// Package acceptance tests the whole service from outside, over HTTP and with real receivers. Tests that kill the service
// run the real program. The tests also use third-party software: the official webhook libraries, a JOSE library,
// schema-driven fuzzing and document linters. This software comes from npm and PyPI at pinned versions; make tools installs
// it.
package acceptance
