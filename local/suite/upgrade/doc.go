// Package upgrade holds the service to the release before: today's code opens what that release stored, and stores what that
// release can read. So a deployment can be rolled back, and two releases can run at once while a deployment goes on.
//
// testdata has the data folder of the release before. That release's own program wrote it, driven by the same requests with
// which the tests drive today's code. CONTRIBUTING.md says how to write it again after a release.
package upgrade
