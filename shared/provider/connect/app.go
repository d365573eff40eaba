package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/identity/authcode"
	"orgops/shared/identity/token"
	"orgops/shared/provider/github"
)

const (
	perPage         = 30  // GitHub shows about 6 KB of a repository, and the client refuses an answer of more than 512 KiB
	maxPages        = 40  // so that the browser, which waits for them, gets its answer
	maxRepositories = 500 // of a token, at GitHub
)

// installed proves that the user of a token may read an installation, and returns the grant of what the user may read of it and the
// integration names. The service's tokens are narrowed to that: an installation may cover repositories of an organization that the user
// may not read, and the end of a repository that nothing reads must not end the access.
func (a Access) installed(
	ctx context.Context, r registration, i integration.Integration, userToken string, installation int64,
) (g integration.Grant, account string, err error) {
	found, err := pages(ctx, a, r, userToken, "/user/installations", func(p page) []entry { return p.Installations })
	if err != nil {
		return g, "", err
	}
	for _, one := range found {
		if one.ID == installation && installation != 0 {
			account = strconv.FormatInt(one.Account.ID, 10)
		}
	}
	if account == "" {
		return g, "", ErrInstallation
	}
	repositories, err := pages(ctx, a, r, userToken, fmt.Sprintf("/user/installations/%d/repositories", installation), func(p page) []entry { return p.Repositories })
	if err != nil {
		return g, "", err
	}
	g.Installation = installation
	for _, one := range repositories {
		if len(g.Repositories) < maxRepositories && github.Covers(i.Config, one.Name) {
			g.Repositories = append(g.Repositories, one.ID)
		}
	}
	if len(g.Repositories) == 0 {
		return g, "", ErrInstallation
	}
	g, err = a.mint(ctx, r, g)
	return g, account, err
}

// entry is an installation or a repository.
type entry struct {
	ID      int64  `json:"id"`
	Name    string `json:"full_name"` // of a repository
	Account struct {
		ID int64 `json:"id"`
	} `json:"account"`
}

type page struct {
	Installations []entry `json:"installations"`
	Repositories  []entry `json:"repositories"`
}

// pages reads a list of GitHub's API with the token of a user or of an installation.
func pages(ctx context.Context, a Access, r registration, bearer, path string, of func(page) []entry) (all []entry, err error) {
	for n := 1; n <= maxPages; n++ {
		var p page
		status, err := a.call(ctx, http.MethodGet, fmt.Sprintf("%s%s?per_page=%d&page=%d", strings.TrimRight(r.API, "/"), path, perPage, n), bearer, nil, &p)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("GitHub does not show %s: it answers %d", path, status)
		}
		all = append(all, of(p)...)
		if len(of(p)) < perPage {
			break
		}
	}
	return all, nil
}

// mint makes a token of an installation, which lasts an hour, for what the connector reads. GitHub refuses a list with a repository
// that is gone; then the token is for those that are left.
func (a Access) mint(ctx context.Context, r registration, g integration.Grant) (integration.Grant, error) {
	reads := map[string]any{"repository_ids": g.Repositories, "permissions": map[string]string{"issues": "read", "contents": "read", "metadata": "read"}}
	minted, err := a.mintFor(ctx, r, g, reads)
	if !errors.Is(err, errUnprocessable) {
		return minted, err
	}
	all, failed := a.mintFor(ctx, r, g, map[string]any{"permissions": map[string]string{"metadata": "read"}})
	if failed != nil {
		return g, failed
	}
	present, failed := pages(ctx, a, r, all.Access, "/installation/repositories", func(p page) []entry { return p.Repositories })
	if failed != nil {
		return g, failed
	}
	had := len(g.Repositories)
	g.Repositories = slices.DeleteFunc(slices.Clone(g.Repositories), func(id int64) bool {
		return !slices.ContainsFunc(present, func(one entry) bool { return one.ID == id })
	})
	switch len(g.Repositories) {
	case 0:
		return g, authcode.ErrGrant
	case had:
		return g, err // it refuses something else, such as a permission that the app lacks
	}
	reads["repository_ids"] = g.Repositories
	return a.mintFor(ctx, r, g, reads)
}

// errUnprocessable reports that GitHub makes no token of what was asked for.
var errUnprocessable = errors.New("GitHub answers 422")

// mintFor makes a token for a request's body.
func (a Access) mintFor(ctx context.Context, r registration, g integration.Grant, body map[string]any) (integration.Grant, error) {
	now := a.Now().UTC()
	proof, err := token.SignApp(r.app.PrivateKey, r.app.AppID, now)
	if err != nil {
		return g, fmt.Errorf("%w: %w", authcode.ErrClient, err)
	}
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	status, err := a.call(ctx, http.MethodPost, fmt.Sprintf("%s/app/installations/%d/access_tokens", strings.TrimRight(r.API, "/"), g.Installation), proof, body, &made)
	switch {
	case err != nil:
		return g, err
	case status == http.StatusCreated && made.Token != "" && made.ExpiresAt.After(now):
		g.Access, g.AccessUntil, g.RefreshedAt, g.BusyUntil = made.Token, made.ExpiresAt.UTC(), now, time.Time{}
		return g, nil
	case status == http.StatusUnauthorized:
		return g, fmt.Errorf("%w: GitHub answers 401", authcode.ErrClient)
	case status == http.StatusUnprocessableEntity:
		return g, errUnprocessable
	case status == http.StatusNotFound, status == http.StatusForbidden: // the app was uninstalled or suspended
		return g, authcode.ErrGrant
	}
	return g, fmt.Errorf("GitHub answers %d", status)
}

// call sends a request to GitHub's API, and reads the answer of a success.
func (a Access) call(ctx context.Context, method, address, bearer string, body, into any) (status int, err error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return 0, errors.New("the address of the API is not a url")
	}
	github.Address(req, bearer)
	resp, err := a.Client.HTTP().Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusTooManyRequests {
		err = github.Limited(resp, a.Now())
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
		return resp.StatusCode, err
	}
	if json.NewDecoder(resp.Body).Decode(into) != nil {
		return 0, errors.New("the answer of the API is not JSON of the documented form")
	}
	return resp.StatusCode, nil
}
