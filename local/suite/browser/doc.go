// Package browser tests the console in a real Chromium. Its tests are the package: see README.md.
package browser
