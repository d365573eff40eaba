package operations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Loosening lists the enforcing policies that a replacement weakens, by id.
type Loosening struct {
	Removed []string `json:"removed,omitempty"`
	LogOnly []string `json:"logOnly,omitempty"` // they only record from now on
	Changed []string `json:"changed,omitempty"` // they have another text
}

// loosened compares policies with those that replace them. Every change of the text counts, because only people can tell whether it
// weakens the policy.
func loosened(was, is []policy.Statement) (l Loosening) {
	for _, old := range was {
		if old.Mode != policy.Enforce {
			continue
		}
		at := slices.IndexFunc(is, func(s policy.Statement) bool { return s.ID == old.ID })
		switch {
		case at < 0:
			l.Removed = append(l.Removed, old.ID)
		case is[at].Mode != policy.Enforce:
			l.LogOnly = append(l.LogOnly, old.ID)
		case is[at].Text != old.Text:
			l.Changed = append(l.Changed, old.ID)
		}
	}
	return l
}

// words says what is loosened, "" if nothing is.
func (l Loosening) words() string {
	var parts []string
	for _, part := range []struct {
		does string
		ids  []string
	}{{"removed", l.Removed}, {"log-only", l.LogOnly}, {"changed", l.Changed}} {
		if len(part.ids) > 0 {
			parts = append(parts, part.does+" "+strings.Join(part.ids, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// tell names the loosening in the record of the request, and returns the write of its entry on the timeline; none if nothing is
// loosened.
func (l Loosening) tell(ctx context.Context, c store.Company, version int64, now time.Time) ([]store.Op, error) {
	words := l.words()
	if words == "" {
		return nil, nil
	}
	resource := "operations/policies#" + words
	web.Affects(ctx, resource[:min(len(resource), 256)]) // ids are ASCII
	details, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	e := timeline.Entry{
		ID: timeline.ID(now, timeline.Note, policy.StoredEntity, fmt.Sprint(version)), At: now, Kind: timeline.Note, Details: details,
		Title: "Policies were loosened: " + words[:min(len(words), 500)],
		Actor: timeline.Reference{Type: user.Entity, ID: web.CallerOf(ctx).UserID}, Subject: timeline.Reference{Type: policy.StoredEntity, ID: fmt.Sprint(version)},
	}
	return []store.Op{e.Create(c)}, nil
}
