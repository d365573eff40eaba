package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"orgops/shared/base/text"
	"orgops/shared/webhook/outbound"
)

// ErrSite reports that the user has given access to other sites than the integration's.
var ErrSite = errors.New("the access is to another site")

// siteID matches the id of a site, which becomes a part of a path.
const siteID text.Pattern = `^[A-Za-z0-9-]{1,64}$`

// maxSites limits the list of sites, in bytes.
const maxSites = 1 << 20

// site returns the id of the site with an origin, and the address that stands for that origin in requests with a token.
func (a Access) site(ctx context.Context, r registration, token, origin string) (id, base string, err error) {
	req, err := http.NewRequestWithContext(outbound.WithOrigin(ctx, outbound.Origin(r.API)), http.MethodGet, r.API+r.Sites, nil)
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	resp, err := a.Client.HTTP().Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("the list of sites answers %d", resp.StatusCode)
	}
	var sites []struct{ ID, URL string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxSites)).Decode(&sites); err != nil {
		return "", "", errors.New("the list of sites is not one")
	}
	for _, s := range sites {
		if outbound.Origin(s.URL) == origin && siteID.Matches(s.ID) {
			return s.ID, r.API + strings.ReplaceAll(r.Site, "{id}", s.ID), nil
		}
	}
	return "", "", ErrSite
}
