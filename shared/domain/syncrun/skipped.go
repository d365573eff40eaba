package syncrun

import (
	"slices"

	"orgops/shared/base/text"
)

// Limits of what a run tells about items that it left out, and of its warnings.
const (
	MaxSkipped  = 10
	MaxWarnings = 10
	maxExample  = 200 // bytes
)

// Skipped tells why a run left items out.
type Skipped struct {
	Reason  string `json:"reason" doc:"why the items were left out" example:"externalId needs 1 to 512 bytes"`
	Items   int    `json:"items" doc:"how many items were left out for it" format:"int32"`
	Example string `json:"example,omitempty" doc:"the id or the title of the first of them, if it has one" example:"octo/app/issues/7"`
}

// Skip counts an item that the run left out. Beyond MaxSkipped reasons only Progress.Failed counts. It makes a new list, because copies
// of the run share the old one.
func (r *Run) Skip(reason, example string) {
	r.Skipped = slices.Clone(r.Skipped)
	n := slices.IndexFunc(r.Skipped, func(s Skipped) bool { return s.Reason == reason })
	switch {
	case n >= 0:
		r.Skipped[n].Items++
	case len(r.Skipped) < MaxSkipped:
		r.Skipped = append(r.Skipped, Skipped{Reason: reason, Items: 1, Example: text.Truncate(example, maxExample)})
	}
}

// Warn keeps a warning once. It makes a new list, as Skip does.
func (r *Run) Warn(warning string) {
	if len(r.Warnings) < MaxWarnings && !slices.Contains(r.Warnings, warning) {
		r.Warnings = append(slices.Clone(r.Warnings), warning)
	}
}
