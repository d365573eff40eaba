// Package upgrade holds the service to the release before: today's code opens what that release stored, and stores what that
// release can read. So a deployment can be rolled back, and two releases can run at once while a deployment goes on. The exceptions are in
// the list apart, each with its reason.
//
// What the release before can read follows from a comparison of forms, and not from a run of its program over today's items. A local
// process refuses a folder whose tables a newer program has migrated, a checkout of one commit lacks the release, and a build of it takes more than
// a minute of a processor.
//
// testdata has the data folder of the release before. That release's own program wrote it, driven by the same requests with
// which the tests drive today's code. CONTRIBUTING.md says how to write it again after a release.
//
// It has no notices, channels, passkeys and factors, because 0.1.0 knows none of them. It has a sign-in by single sign-on that has begun, and no
// code and no assertion: those live for minutes, and a user whose sign-in is cut off begins another.
package upgrade
