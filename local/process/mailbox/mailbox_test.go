package mailbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"orgops/local/process/mailbox"
	"orgops/shared/base/id"
	"orgops/shared/storage/mail"
	"orgops/shared/testkit/errtest"
)

func open(t *testing.T) (*mailbox.Folder, string) {
	t.Helper()
	path := t.TempDir()
	f, err := mailbox.Open(path)
	errtest.Must(t, err)
	return f, path
}

func put(t *testing.T, f *mailbox.Folder, n int) string {
	t.Helper()
	name := id.At(time.Unix(1e9+int64(n), 0), fmt.Sprint(n))
	errtest.Must(t, f.Send(t.Context(), mail.Message{
		ID: name, To: "ada@example.org", Subject: fmt.Sprintf("Größe %d", n), Text: "the text", HTML: "<p>the <b>html</b></p>", At: time.Unix(1e9, 0),
	}))
	return name
}

func get(f *mailbox.Folder, path string, edit func(*http.Request)) (int, string, http.Header) {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4000"+path, nil)
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func TestFolder(t *testing.T) {
	t.Parallel()
	f, path := open(t)
	if _, body, _ := get(f, "/mails", nil); !strings.Contains(body, "No mail yet") {
		t.Errorf("the empty page says %s", body)
	}
	first, last := put(t, f, 1), put(t, f, 2)
	put(t, f, 2) // again
	_, body, header := get(f, "/mails", nil)
	if strings.Index(body, last) > strings.Index(body, first) {
		t.Errorf("the page does not list the newest first:\n%s", body)
	}
	if n := strings.Count(body, "Größe 2"); n != 1 {
		t.Errorf("the mail that was sent twice is listed %d times", n)
	}
	if got := header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'") {
		t.Errorf("policy = %q", got)
	}
	_, body, _ = get(f, "/mails/"+last, nil)
	for _, want := range []string{"the text", "sandbox"} {
		if !strings.Contains(body, want) {
			t.Errorf("the mail's page lacks %q:\n%s", want, body)
		}
	}
	if _, body, _ := get(f, "/mails/"+last+".html", nil); !strings.Contains(body, "<p>the <b>html</b></p>") {
		t.Errorf("the frame shows %s", body)
	}
	for _, bad := range []string{"/mails/../orgops.db", "/mails/x", "/mails/" + id.New()} {
		if code, _, _ := get(f, bad, nil); code != 404 {
			t.Errorf("GET %s = %d, want 404", bad, code)
		}
	}
	files, err := os.ReadDir(path)
	errtest.Must(t, err)
	if len(files) != 2 {
		t.Errorf("files = %d, want 2: a repeat replaces", len(files))
	}
}

func TestFolder_Trim(t *testing.T) {
	t.Parallel()
	f, path := open(t)
	for n := range 203 {
		put(t, f, n)
	}
	files, err := os.ReadDir(path)
	errtest.Must(t, err)
	if len(files) != 200 {
		t.Errorf("files = %d, want the newest 200", len(files))
	}
}

// The mails hold codes, so no page of another site reads them.
func TestFolder_OtherSite(t *testing.T) {
	t.Parallel()
	f, _ := open(t)
	put(t, f, 1)
	for name, edit := range map[string]func(*http.Request){
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") },
		"another site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"rebound name":   func(r *http.Request) { r.Host = "evil.test:4000" },
	} {
		code, body, _ := get(f, "/mails", edit)
		if code != 403 {
			t.Errorf("%s: %d, want 403", name, code)
		}
		if strings.Contains(body, "Größe") {
			t.Errorf("%s: the answer shows the mails: %s", name, body)
		}
	}
}
