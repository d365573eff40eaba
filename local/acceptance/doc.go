// Package acceptance tests the whole service from outside: over HTTP, with real receivers, and with the real program where it
// must be killed. It also uses third-party software: the official webhook libraries, a JOSE library, schema-driven fuzzing
// and document linters. Those tools come from npm and PyPI at pinned versions; make tools installs them.
package acceptance
