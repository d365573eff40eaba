package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// maxRepositories limits the repositories of one integration. GitHub lists as many of an organization on a page.
const maxRepositories = 100

// errRepository marks a refusal of one repository, which another one of the same integration may not share.
var errRepository = fmt.Errorf("repository: %w", connector.ErrRefused)

// several is where a run of more than one repository stands.
type several struct {
	Repository int              `json:"repository,omitempty"` // the place of the repository that is read
	Names      []string         `json:"names,omitempty"`      // of an organization, as they were when the run began
	Each       map[string]state `json:"each,omitempty"`       // of those that have been read
	Refused    int              `json:"refused,omitempty"`    // how many GitHub has refused
}

// isSeveral reports whether a configuration may name more than one repository.
func (c Config) isSeveral() bool { return c.Repository == "" }

// has reports whether a configuration names a repository.
func (c Config) has(name string) bool {
	owner, _, _ := strings.Cut(name, "/")
	if c.Organization != "" && strings.EqualFold(owner, c.Organization) {
		return true
	}
	for _, one := range append([]string{c.Repository}, c.Repositories...) {
		if one != "" && strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}

// Covers reports whether a stored configuration names a repository.
func Covers(raw json.RawMessage, name string) bool {
	var config Config
	return json.Unmarshal(raw, &config) == nil && config.has(name)
}

// stateOf returns the state of one repository.
func (c Config) stateOf(s state, name string) state {
	if c.isSeveral() {
		return s.Each[name]
	}
	return s
}

// names returns the repositories of a run. It asks GitHub for those of an organization when the run begins.
func (r reader) names(ctx context.Context, at *checkpoint) ([]string, error) {
	switch {
	case r.config.Repository != "":
		return []string{r.config.Repository}, nil
	case len(r.config.Repositories) > 0:
		return r.config.Repositories, nil
	case len(at.Names) > 0:
		return at.Names, nil
	}
	resp, err := r.get(ctx, fmt.Sprintf("%s/orgs/%s/repos?per_page=%d&sort=full_name", r.config.base(), r.config.Organization, maxRepositories), "")
	if errors.Is(err, errRepository) {
		err = refused("GitHub does not list the repositories of this organization; check its name, and that the token may read them")
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var listed []struct {
		FullName string `json:"full_name"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(&listed); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "GitHub's answer is not the list of repositories that it documents, or it was cut off", err)
	}
	more, err := r.following(issues, resp.Header)
	if err != nil {
		return nil, err
	}
	if more != "" {
		return nil, refused(fmt.Sprintf("the organization has more than %d repositories; name those that matter in repositories", maxRepositories))
	}
	for _, one := range listed {
		if isName(one.FullName) && r.config.has(one.FullName) {
			at.Names = append(at.Names, one.FullName)
		}
	}
	if len(at.Names) == 0 {
		return nil, refused("the organization has no repository that the token may read")
	}
	return at.Names, nil
}

// at returns the checkpoint at which the nth repository begins, or the end of the run.
func (next checkpoint) at(n int, names []string, last state) checkpoint {
	begun := checkpoint{State: state{Each: next.Each}}
	if n < len(names) {
		begun = begin(last.Each[names[n]])
		begun.several = next.several
		begun.Repository = n
	}
	begun.unchanged = next.unchanged
	return begun
}

// after notes the state of a repository that has been read.
func (next checkpoint) after(name string) checkpoint {
	each := map[string]state{name: next.State}
	for other, known := range next.Each {
		each[other] = known
	}
	next.Each = each
	return next
}

// without passes over a repository that GitHub refuses. It keeps the repository's state, and removes nothing in this run. If all are
// refused, it returns the error.
func (next checkpoint) without(name string, last state, of int, refusal error) (page connector.FetchedPage, following checkpoint, err error) {
	if next.Refused++; next.Refused == of {
		return page, next, refusal
	}
	reason := "GitHub refuses it"
	var f *fault.Error
	if errors.As(refusal, &f) {
		reason = f.Detail
	}
	page.Refuse(name, reason)
	next.State, next.List, next.unchanged = last, "", false
	return page, next, nil
}

// isName reports whether a text may stand in the path of a repository.
func isName(name string) bool {
	owner, repository, ok := strings.Cut(name, "/")
	const signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return ok && owner != "" && strings.Trim(owner+repository, signs) == "" && repository != "" && repository != "." && repository != ".."
}
