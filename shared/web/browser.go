package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"

	"orgops/shared/base/text"
)

// browserValue matches the values that BrowserCookie makes.
const browserValue text.Pattern = `^[A-Z2-7]{26}$`

// BrowserCookie returns a cookie that tells the browser of this request, to bind what leads to another service and comes back. A browser
// that has the cookie keeps its value, so that two tabs do not disturb each other. The name begins with __Host-, so no page of another
// host can set or read it.
func BrowserCookie(ctx context.Context, name string, lifetime time.Duration, site http.SameSite) http.Cookie {
	//nolint:gosec // G124 does not see that the caller gives the SameSite
	cookie := http.Cookie{
		Name: name, Value: SentCookie(ctx, name), Path: "/", MaxAge: int(lifetime / time.Second), Secure: true, HttpOnly: true, SameSite: site,
	}
	if !browserValue.Matches(cookie.Value) {
		cookie.Value = rand.Text()
	}
	return cookie
}

// BaseOf returns the service's address at which a request arrived: base, or the former address that goes on. Another service leads back to
// where the browser began. The path tells it, such as that of a stage, because a client cannot choose it.
func BaseOf(ctx context.Context, base, former string) string {
	if path := BasePath(ctx); former != "" && path == pathOf(former) && path != pathOf(base) {
		return former
	}
	return base
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// SentCookie returns the value of a cookie of this request, or "".
func SentCookie(ctx context.Context, name string) string {
	cookie, err := (&http.Request{Header: RequestHeaders(ctx)}).Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}
