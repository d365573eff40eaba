// Package blackbox walks through the service from outside, over HTTP alone, and compares what three forms of it answer:
// the local process on its own files, the same process on AWS's parts, and the deployed functions behind their gateway.
// Every answer is recorded; ids, times and secrets are replaced by names that keep their relations; and the record must be
// that of testdata/journey.golden.json, whichever form answered.
package blackbox
