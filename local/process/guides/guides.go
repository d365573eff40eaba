// Package guides holds the guides for founders and developers. Its tests run every command and every sample of them.
package guides

import "embed"

// Files has the guides as Markdown, and the types of the events.
//
//go:embed *.md typescript/events.ts
var Files embed.FS
