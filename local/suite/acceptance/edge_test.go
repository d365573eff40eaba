package acceptance_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/suite/servicetest"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// TestProxies counts login tries for the client behind a trusted proxy, and records its network. Without trusted proxies, no header
// makes a client another one.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		proxies []netip.Prefix
		other   int // the status of a login with the right password, which names another client
	}{
		"trusted":     {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, http.StatusOK},
		"not trusted": {nil, http.StatusTooManyRequests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servicetest.StartWith(t, func(c *config.Config) { c.Proxies = tt.proxies })
			f := s.Found("Acme")
			login := func(password, header, value string) (status int, body string) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/auth/login",
					strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, f.Email, password)))
				errtest.Must(t, err)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(header, value)
				res, err := http.DefaultClient.Do(r)
				errtest.Must(t, err)
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				errtest.Must(t, err)
				return res.StatusCode, string(text)
			}
			got := http.StatusUnauthorized
			for n := 0; n < 21 && got == http.StatusUnauthorized; n++ { // ten each minute, and the minute may end meanwhile
				spoofed := fmt.Sprintf("203.0.113.%d, 198.51.100.7", n)
				if n%2 == 0 {
					spoofed = fmt.Sprintf("203.0.113.%d, 198.51.100.7:%d, 127.0.0.1", n, 1024+n)
				}
				var body string
				if got, body = login("a wrong password", "X-Forwarded-For", spoofed); n < 10 && got != http.StatusUnauthorized {
					t.Fatalf("try %d: status = %d, want 401: %s", n+1, got, body)
				}
			}
			if got, body := login(f.Password, "Forwarded", "for=203.0.113.99, for=198.51.100.7"); got != http.StatusTooManyRequests {
				t.Errorf("the same client: status = %d, want 429: %s", got, body)
			}
			if got, body := login(f.Password, "X-Forwarded-For", "198.51.100.8"); got != tt.other {
				t.Errorf("another client: status = %d, want %d: %s", got, tt.other, body)
			}
		})
	}
}

// slow sends all of a body of 1 MiB but its last byte, and returns the status of the answer, or 0 if the connection ended.
func slow(ctx context.Context, t *testing.T, address, token, company string) int {
	d := net.Dialer{Timeout: time.Minute}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	const size = 1 << 20
	go func() {
		_, _ = fmt.Fprintf(conn, "POST /companies/%s/integrations/webhook-x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", company, token, size)
		_, _ = io.WriteString(conn, strings.Repeat(" ", size-1))
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
		t.Error("a 503 without Retry-After")
	}
	return res.StatusCode
}

// TestBodies refuses most of a company's slow bodies once they hold the company's share, and serves another company meanwhile.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	acme, beta := s.tenant("Acme"), s.tenant("Beta")
	const all = 96
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	answers := make(chan int)
	for range all {
		go func() { answers <- slow(ctx, t, strings.TrimPrefix(s.URL, "http://"), acme.Token, acme.ID) }()
	}
	refused := 0
	for range all {
		switch got := <-answers; got {
		case http.StatusServiceUnavailable:
			switch refused++; refused {
			case 1: // the others hold what there is
				beta.do("GET", beta.at("/integrations"), nil).want(200)
				beta.do("POST", beta.at("/integrations/webhook-x"), map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}).want(201)
			case all / 2:
				stop()
			}
		case http.StatusCreated, http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed:
			t.Errorf("status = %d for a body that did not arrive", got)
		}
	}
	if refused < all/2 {
		t.Errorf("%d of %d bodies were refused, want at least half", refused, all)
	}
}

// meeting is a reader without content, which ends when all of its readers have been reached.
type meeting struct {
	left atomic.Int32
	all  chan struct{}
}

func (m *meeting) Read([]byte) (int, error) {
	if m.left.Add(-1) == 0 {
		close(m.all)
	}
	select {
	case <-m.all:
	case <-time.After(time.Minute): // another body was refused
	}
	return 0, io.EOF
}

// TestBodies_Streamed takes eight pushes of 20 MB at once, of which no rule of the mapping reads anything, where there is memory for two.
// Each is answered as a small one is, and its signature counts.
func TestBodies_Streamed(t *testing.T) {
	t.Parallel()
	s := start(t)
	g := s.githubCompany(1, mainRepository)
	const all, size = 8, 20 << 20
	long := strings.Repeat("x", size)
	m := &meeting{all: make(chan struct{})}
	m.left.Store(all)
	statuses, reasons := make([]int, all), make([]string, all)
	var sent sync.WaitGroup
	for n := range all {
		sent.Go(func() {
			head, tail := `{"ref":"refs/heads/main","compare":"`+long, fmt.Sprintf(`","n":%d}`, n)
			secret := g.secret
			if n == 0 {
				secret = "another one"
			}
			mac := hmac.New(sha256.New, []byte(secret))
			_, _ = io.WriteString(mac, head+tail)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/inbound/"+g.ID+"/github",
				io.MultiReader(strings.NewReader(head), m, strings.NewReader(tail)))
			errtest.Must(t, err)
			r.ContentLength = int64(len(head) + len(tail))
			r.Header = http.Header{
				"X-Github-Delivery": {fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n)}, "X-Github-Event": {"push"},
				"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}, "Content-Type": {"application/json"},
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			var answer struct{ Reason string }
			_ = json.NewDecoder(res.Body).Decode(&answer) // a refusal has none
			statuses[n], reasons[n] = res.StatusCode, answer.Reason
		})
	}
	sent.Wait()
	if diff := cmp.Diff([]int{401, 202, 202, 202, 202, 202, 202, 202}, statuses); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got, want := reasons[1], "no rule of the mapping matches"; got != want {
		t.Errorf("no effect because %q, want %q", got, want)
	}
}
