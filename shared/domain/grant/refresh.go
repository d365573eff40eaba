package grant

import (
	"crypto/subtle"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/sso"
)

// Refresh holds the parts of a refresh token. All tokens of a grant have the family in common, and each has a secret of its own. Who holds
// the family and a secret that does not count has a former token: then the token was stolen, from the third party or by it.
type Refresh struct {
	CompanyID, GrantID string
	family, secret     string
}

// Rotating is how long the token before the newest is refused without more. A program that refreshes in several threads, or tries
// again without having had the answer, sends one within seconds. A token that comes later, or is older, was stolen.
const Rotating = 10 * time.Second

// ParseRefresh reads a refresh token. ok is false for another text.
func ParseRefresh(text string) (r Refresh, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return r, false
	}
	for _, part := range parts {
		if !id.Valid(part) {
			return r, false
		}
	}
	return Refresh{parts[0], parts[1], parts[2], parts[3]}, true
}

// NewRefresh returns the first refresh token of a grant, and the grant that takes it.
func (g Grant) NewRefresh(companyID string) (string, Grant) {
	r := Refresh{CompanyID: companyID, GrantID: g.ID, family: sso.Secret()}
	g.Family = sso.Hash(r.family)
	return g.Rotate(r)
}

// Rotate returns the next refresh token of a grant, and the grant that takes it alone.
func (g Grant) Rotate(r Refresh) (string, Grant) {
	r.secret = sso.Secret()
	g.Former, g.Refresh = g.Refresh, sso.Hash(r.secret)
	return strings.Join([]string{r.CompanyID, r.GrantID, r.family, r.secret}, "."), g
}

// Belongs reports whether a refresh token is or was one of the grant.
func (g Grant) Belongs(r Refresh) bool {
	return subtle.ConstantTimeCompare([]byte(sso.Hash(r.family)), []byte(g.Family)) == 1
}

// Counts reports whether a refresh token that belongs to the grant is its newest one.
func (g Grant) Counts(r Refresh) bool {
	return subtle.ConstantTimeCompare([]byte(sso.Hash(r.secret)), []byte(g.Refresh)) == 1
}

// Lost reports whether a refresh token that belongs to the grant is the one before the newest, and lost a race to it just now.
func (g Grant) Lost(r Refresh, now time.Time) bool {
	return subtle.ConstantTimeCompare([]byte(sso.Hash(r.secret)), []byte(g.Former)) == 1 && now.Sub(g.LastUsedAt) < Rotating
}
