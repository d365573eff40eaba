package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/identity/authcode"
	"orgops/shared/identity/token"
)

const (
	perPage  = 100
	maxPages = 5 // GitHub takes at most 500 repositories for a token
)

// installed proves that the user of a token may read an installation, and returns the grant of what the user may read of it. The
// service's tokens are narrowed to that: an installation may cover repositories of an organization that the user may not read.
func (a Access) installed(ctx context.Context, r registration, userToken string, installation int64) (g integration.Grant, account string, err error) {
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
	if len(repositories) == 0 {
		return g, "", ErrInstallation
	}
	g.Installation = installation
	for _, one := range repositories {
		g.Repositories = append(g.Repositories, one.ID)
	}
	g, err = a.mint(ctx, r, g)
	return g, account, err
}

// entry is an installation or a repository.
type entry struct {
	ID      int64 `json:"id"`
	Account struct {
		ID int64 `json:"id"`
	} `json:"account"`
}

type page struct {
	Installations []entry `json:"installations"`
	Repositories  []entry `json:"repositories"`
}

// pages reads a list of GitHub's API with the token of a user.
func pages(ctx context.Context, a Access, r registration, userToken, path string, of func(page) []entry) (all []entry, err error) {
	for n := 1; n <= maxPages; n++ {
		var p page
		status, err := a.call(ctx, http.MethodGet, fmt.Sprintf("%s%s?per_page=%d&page=%d", strings.TrimRight(r.API, "/"), path, perPage, n), userToken, nil, &p)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("the installations cannot be listed: GitHub answers %d", status)
		}
		all = append(all, of(p)...)
		if len(of(p)) < perPage {
			break
		}
	}
	return all, nil
}

// mint makes a token of an installation, which lasts an hour, for what the connector reads.
func (a Access) mint(ctx context.Context, r registration, g integration.Grant) (integration.Grant, error) {
	now := a.Now().UTC()
	proof, err := token.SignApp(r.app.PrivateKey, r.app.AppID, now)
	if err != nil {
		return g, fmt.Errorf("%w: %w", authcode.ErrClient, err)
	}
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	body := map[string]any{"repository_ids": g.Repositories, "permissions": map[string]string{"issues": "read", "contents": "read", "metadata": "read"}}
	status, err := a.call(ctx, http.MethodPost, fmt.Sprintf("%s/app/installations/%d/access_tokens", strings.TrimRight(r.API, "/"), g.Installation), proof, body, &made)
	switch {
	case err != nil:
		return g, err
	case status == http.StatusCreated && made.Token != "" && made.ExpiresAt.After(now):
		g.Access, g.AccessUntil, g.RefreshedAt, g.BusyUntil = made.Token, made.ExpiresAt.UTC(), now, time.Time{}
		return g, nil
	case status == http.StatusUnauthorized:
		return g, fmt.Errorf("%w: GitHub answers 401", authcode.ErrClient)
	case status == http.StatusNotFound, status == http.StatusForbidden, status == http.StatusUnprocessableEntity:
		// the app was uninstalled or suspended, or sees the repositories no more
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
	req.Header.Set("User-Agent", "orgops-github")
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := a.Client.HTTP().Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
		return resp.StatusCode, nil
	}
	if json.NewDecoder(resp.Body).Decode(into) != nil {
		return 0, errors.New("the answer of the API is not JSON of the documented form")
	}
	return resp.StatusCode, nil
}
