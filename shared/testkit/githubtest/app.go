package githubtest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/shared/identity/application"
)

// The registration of the app that the server knows, and what it is installed on.
const (
	AppID        = "12345"
	Installation = 7001
	RepositoryID = 1300192
	Second       = "octo/site"
	SecondID     = 1300193
)

// App is a GitHub App of the server. Its tokens last an hour.
type App struct {
	s       *Server
	key     *rsa.PrivateKey
	account int64
	codes   map[string]bool // of a user who may read the installation, and of one who may not
	users   map[string]bool
	tokens  map[string]time.Time
	ended   bool
	others  int     // repositories that the installation covers too
	gone    []int64 // repositories that it covers no more
	made    int
}

// Register makes the server's app.
func (s *Server) Register(t testing.TB) *App {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.app = &App{s: s, key: key, account: 501, codes: map[string]bool{}, users: map[string]bool{}, tokens: map[string]time.Time{}}
	return s.app
}

// Application returns the registration of a service with the app.
func (a *App) Application() application.Application {
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)})
	return application.Application{
		ClientID: "Iv1.orgops", ClientSecret: "s3cret-of-the-operator", AppID: AppID, PrivateKey: string(private),
		Server: &application.Server{API: a.s.URL, Authorization: a.s.URL + "/install", Token: a.s.URL + "/login/oauth/access_token"},
	}
}

// Install plays a user who is led to an address and installs the app: it returns the query with which the browser comes back. A user who
// may not read the installation can only claim it.
func (a *App) Install(led *url.URL, may bool) url.Values {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	code := rand.Text()
	a.codes[code] = may
	return url.Values{"code": {code}, "installation_id": {fmt.Sprint(Installation)}, "setup_action": {"install"}, "state": {led.Query().Get("state")}}
}

// Uninstall ends the installation and its tokens.
func (a *App) Uninstall() {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.ended, a.tokens = true, map[string]time.Time{}
}

// Move changes the account on which the app is installed.
func (a *App) Move(account int64) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.account, a.ended = account, false
}

// Cover lets the installation cover so many repositories of other owners too, which the lists show before Repository.
func (a *App) Cover(others int) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.others = others
}

// Remove takes a repository out of the installation, which refuses tokens for it from now on.
func (a *App) Remove(id int64) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.gone = append(a.gone, id)
}

// page returns a page of the installation's repositories, each as large as GitHub shows it.
func (a *App) page(r *http.Request) map[string]any {
	urls := map[string]string{}
	for n := range 50 {
		urls[fmt.Sprintf("member_%d_url", n)] = "https://api.github.com/repos/octo/app/" + strings.Repeat("x", 60)
	}
	all := []any{}
	show := func(id int64, name string) {
		if !slices.Contains(a.gone, id) {
			all = append(all, map[string]any{"id": id, "full_name": name, "urls": urls})
		}
	}
	for n := range a.others {
		show(int64(n+1), fmt.Sprintf("other/app-%d", n))
	}
	show(RepositoryID, Repository)
	show(SecondID, Second)
	size := atoi(r.URL.Query().Get("per_page"), 30)
	from := min((atoi(r.URL.Query().Get("page"), 1)-1)*size, len(all))
	return map[string]any{"total_count": len(all), "repositories": all[from:min(from+size, len(all))]}
}

// Made returns how many tokens of the installation the app has got.
func (a *App) Made() int {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.made
}

// accepts reports whether a request carries a token of the installation that has not expired.
func (a *App) accepts(r *http.Request) bool {
	until, ok := a.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	return ok && a.s.now().Before(until)
}

// serve answers a request of the app itself, or of a user of it.
func (a *App) serve(w http.ResponseWriter, r *http.Request) (answered bool) {
	switch path := strings.TrimPrefix(r.URL.Path, Base); {
	case path == "/login/oauth/access_token":
		a.exchange(w, r)
	case path == "/user/installations":
		a.user(w, r, map[string]any{"installations": []any{map[string]any{"id": Installation, "account": map[string]any{"id": a.account}}}})
	case path == fmt.Sprintf("/user/installations/%d/repositories", Installation):
		a.user(w, r, a.page(r))
	case path == "/installation/repositories" && a.accepts(r):
		write(w, http.StatusOK, a.page(r))
	case path == fmt.Sprintf("/app/installations/%d/access_tokens", Installation):
		a.mint(w, r)
	default:
		return false
	}
	return true
}

func (a *App) exchange(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // what cannot be read has no code
	may, ok := a.codes[r.PostForm.Get("code")]
	delete(a.codes, r.PostForm.Get("code"))
	if !ok || r.PostForm.Get("client_secret") != "s3cret-of-the-operator" {
		write(w, http.StatusOK, map[string]any{"error": "bad_verification_code"}) // GitHub answers 200
		return
	}
	token := "ghu_" + rand.Text()
	a.users[token] = may
	write(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "bearer", "scope": ""})
}

// user answers a request with the token of a user. A user who may read nothing has empty lists.
func (a *App) user(w http.ResponseWriter, r *http.Request, answer map[string]any) {
	may, ok := a.users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	switch {
	case !ok:
		refuse(w, http.StatusUnauthorized, "Bad credentials")
	case !may:
		write(w, http.StatusOK, map[string]any{"total_count": 0, "installations": []any{}, "repositories": []any{}})
	default:
		write(w, http.StatusOK, answer)
	}
}

// mint makes a token of the installation for an app that proves itself, narrowed as it asks.
func (a *App) mint(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	switch {
	case !a.proved(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")):
		refuse(w, http.StatusUnauthorized, "A JSON web token could not be decoded")
	case a.ended:
		refuse(w, http.StatusNotFound, "Not Found")
	case json.NewDecoder(r.Body).Decode(&asked) != nil || !a.narrow(asked.RepositoryIDs, asked.Permissions):
		refuse(w, http.StatusUnprocessableEntity, "the token is not narrowed to what the user may read")
	default:
		token, until := "ghs_"+rand.Text(), a.s.now().Add(time.Hour)
		a.tokens[token] = until
		if asked.RepositoryIDs != nil {
			a.made++
		}
		write(w, http.StatusCreated, map[string]any{"token": token, "expires_at": until.UTC().Format(time.RFC3339)})
	}
}

// narrow reports whether a token is for repositories that the installation covers and the configuration names, or for the list of all.
func (a *App) narrow(ids []int64, permissions map[string]string) bool {
	if ids == nil {
		return len(permissions) == 1 && permissions["metadata"] == "read"
	}
	for _, id := range ids {
		if id != RepositoryID && id != SecondID || slices.Contains(a.gone, id) {
			return false
		}
	}
	return len(ids) > 0 && permissions["issues"] == "read"
}

// proved reports whether a JWT is the app's own, as GitHub documents: RS256, at most ten minutes.
func (a *App) proved(jwt string) bool {
	signed, signature, _ := cutLast(jwt)
	header, claims, _ := strings.Cut(signed, ".")
	var h struct{ Alg string }
	var c struct {
		Iss      string
		Iat, Exp int64
	}
	raw, _ := base64.RawURLEncoding.DecodeString(header)
	body, _ := base64.RawURLEncoding.DecodeString(claims)
	sig, _ := base64.RawURLEncoding.DecodeString(signature)
	if json.Unmarshal(raw, &h) != nil || json.Unmarshal(body, &c) != nil {
		return false
	}
	sum, now := sha256.Sum256([]byte(signed)), a.s.now().Unix()
	return h.Alg == "RS256" && c.Iss == AppID && c.Iat <= now && c.Exp > now && c.Exp-c.Iat <= 600 &&
		rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], sig) == nil
}

func cutLast(text string) (before, after string, ok bool) {
	n := strings.LastIndex(text, ".")
	if n < 0 {
		return text, "", false
	}
	return text[:n], text[n+1:], true
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
