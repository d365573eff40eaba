// Package blackbox compares the answers of the service over HTTP with golden files. All targets have the same golden files:
// the local process on SQLite, the same process on AWS's services, and the deployed functions behind their gateway. Each
// journey has one file, testdata/<journey>.golden.json. Ids, times and secrets are replaced by names, and the same id always
// gets the same name. The README.md says how to run a journey, read a failure and add a journey.
package blackbox
