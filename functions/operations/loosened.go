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
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Loosening lists the enforcing policies that a replacement weakens, by id.
type Loosening struct {
	Removed []string `json:"removed,omitempty"`
	LogOnly []string `json:"logOnly,omitempty"` // they only record from now on
	Changed []string `json:"changed,omitempty"` // they have another text
	Added   []string `json:"added,omitempty"`   // they permit what no policy permitted
}

// loosened compares policies with those that replace them. Every change of a forbid counts, because only people can tell whether it
// weakens the forbid. Of permits, those count that are enforced from now on and permit what the policies of the service do not.
func (d Deps) loosened(was, is []policy.Statement) (Loosening, error) {
	var l Loosening
	for _, old := range was {
		if old.Mode != policy.Enforce || !policyengine.Forbids(old.Text) {
			continue
		}
		switch now := find(is, old.ID); {
		case now.ID == "":
			l.Removed = append(l.Removed, old.ID)
		case now.Mode != policy.Enforce:
			l.LogOnly = append(l.LogOnly, old.ID)
		case now.Text != old.Text:
			l.Changed = append(l.Changed, old.ID)
		}
	}
	for _, now := range is {
		old := find(was, now.ID)
		if now.Mode != policy.Enforce || now == old || slices.Contains(l.Changed, now.ID) {
			continue
		}
		widens, err := d.Checker.Widens(now.Text)
		if err != nil {
			return l, err
		}
		if widens {
			l.Added = append(l.Added, now.ID)
		}
	}
	return l, nil
}

// find returns the policy with an id, or the zero Statement.
func find(all []policy.Statement, id string) policy.Statement {
	if at := slices.IndexFunc(all, func(s policy.Statement) bool { return s.ID == id }); at >= 0 {
		return all[at]
	}
	return policy.Statement{}
}

// words says what is loosened, "" if nothing is.
func (l Loosening) words() string {
	var parts []string
	for _, part := range []struct {
		does string
		ids  []string
	}{{"removed", l.Removed}, {"log-only", l.LogOnly}, {"changed", l.Changed}, {"added", l.Added}} {
		if len(part.ids) > 0 {
			parts = append(parts, part.does+" "+strings.Join(part.ids, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// tell names the loosening in the record of the request, and returns the write of its entry on the timeline; none if nothing is
// loosened. userID names the user who asked for it.
func (l Loosening) tell(ctx context.Context, c store.Company, version int64, userID string, now time.Time) ([]store.Op, error) {
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
		Actor: timeline.Reference{Type: user.Entity, ID: userID}, Subject: timeline.Reference{Type: policy.StoredEntity, ID: fmt.Sprint(version)},
	}
	return []store.Op{e.Create(c)}, nil
}
