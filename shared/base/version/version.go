// Package version tells which release and which commit a program was built from.
package version

// Release is the version of the API and of its release. It follows Semantic Versioning; CHANGELOG.md lists what each has.
const Release = "0.1.0"

// commit is set by the linker: see the Makefile. The Lambdas are built without it, because a build with it would differ
// from the one before even if the function's code is the same.
var commit string //nolint:gochecknoglobals // the linker sets only variables

// Build describes a program.
type Build struct {
	Release string
	Commit  string // that the program was built from, with -dirty if the source differed; "" if the build did not set it
}

// Get returns the running program's build.
func Get() Build { return Build{Release, commit} }

// String returns a line such as "0.1.0 (commit 3fbfd39)".
func (b Build) String() string {
	if b.Commit == "" {
		return b.Release
	}
	return b.Release + " (commit " + b.Commit + ")"
}
