// Package acceptance tests the whole service from outside: over HTTP, with real receivers, with the real program where
// it has to be killed, and with other people's software (the official webhook libraries, a JOSE library, schema-driven
// fuzzing, document linters). Those tools come from npm and PyPI at pinned versions; make tools installs them.
package acceptance
