package inbound_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"orgops/shared/domain/memory"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	errtest.Must(t, err)
	errtest.Must(t, w.Close())
	return b.String()
}

// TestReceive_Address takes the address as senders write it, and says which method it takes.
func TestReceive_Address(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	path := "/inbound/" + s.A.ID + "/webhook"
	for n, suffix := range []string{"/", "?source=desk", "/?a=1&a=2", "?since=%", "?a;b"} {
		id := fmt.Sprint("d", n)
		s.post(path+suffix, upsert, s.signature("webhook", secret, id, upsert)...).Want(202)
		s.post(path+suffix, upsert, s.signature("webhook", other, id, upsert)...).Want(401)
	}
	for _, method := range []string{"GET", "HEAD", "PUT"} {
		for _, suffix := range []string{"", "/"} {
			if allow := s.Do(method, path+suffix, "", nil).Want(405).Header.Get("Allow"); !strings.Contains(allow, "POST") {
				t.Errorf("%s %s: Allow = %q, want POST in it", method, suffix, allow)
			}
		}
	}
}

// TestReceive_Svix takes the names from which the standard's come.
func TestReceive_Svix(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	renamed := func(id, signedWith string) (pairs []string) {
		for _, text := range s.signature("webhook", signedWith, id, upsert) {
			pairs = append(pairs, strings.Replace(text, "Webhook-", "Svix-", 1))
		}
		return pairs
	}
	path := "/inbound/" + s.A.ID + "/webhook"
	s.wantReceipt(s.sent(s.post(path, upsert, renamed("d1", secret)...), 202), "memory.upsert permitted created")
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 200), "duplicate")
	s.post(path, upsert, renamed("d2", other)...).Want(401)
}

// TestReceive_Types takes JSON under each name that senders give it.
func TestReceive_Types(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	for n, media := range []string{
		"application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json; charset", "application/cloudevents+json", "text/plain", "text/plain;charset=UTF-8",
	} {
		s.send("webhook", secret, fmt.Sprint("d", n), upsert, "Content-Type", media).Want(202)
	}
	s.send("webhook", secret, "bom", "\ufeff"+upsert).Want(202)
	s.send("webhook", secret, "x", upsert, "Content-Type", "text/html").Want(415)
	form := "payload=" + url.QueryEscape(githubIssue("Bug", 1, 0))
	for _, media := range []string{"application/x-www-form-urlencoded", "Application/X-WWW-Form-Urlencoded; charset=utf-8", "application/x-www-form-urlencoded; charset"} {
		s.send("github", githubSecret, "g", form, "X-GitHub-Event", "issues", "Content-Type", media).Want(map[bool]int{true: 202, false: 200}[media == "application/x-www-form-urlencoded"])
	}
}

// TestReceive_Gzip decodes a compressed body, whose signature may be of the bytes as sent or of what was compressed.
func TestReceive_Gzip(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	small := zipped(t, upsert)
	path := "/inbound/" + s.A.ID + "/webhook"
	gzipped := func(pairs []string) []string { return append(pairs, "Content-Encoding", "gzip") }
	s.post(path, small, gzipped(s.signature("webhook", secret, "d1", small))...).Want(202)
	s.post(path, small, gzipped(s.signature("webhook", secret, "d2", upsert))...).Want(202)
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 200), "duplicate")
	s.post(path, small, gzipped(s.signature("webhook", other, "d3", upsert))...).Want(401)
	s.post(path, upsert, gzipped(s.signature("webhook", secret, "d4", upsert))...).Want(202) // a gateway has decoded it
	cut := small[:len(small)-9]
	s.post(path, cut, gzipped(s.signature("webhook", secret, "cut", cut))...).Want(400)
	bomb := zipped(t, strings.Repeat(" ", 2<<20)+upsert)
	s.post(path, bomb, gzipped(s.signature("webhook", secret, "d5", bomb))...).Want(413)
	s.post(path, bomb, gzipped(s.signature("webhook", other, "d6", bomb))...).Want(401)
	for n, coding := range []string{"identity, gzip", "X-Gzip,identity", " GZIP,", "identity, identity"} {
		body := small
		if !strings.Contains(strings.ToLower(coding), "gzip") {
			body = upsert
		}
		s.post(path, body, append(s.signature("webhook", secret, fmt.Sprintf("several%d", n), upsert), "Content-Encoding", coding)...).Want(202)
	}
	for _, coding := range []string{"br", "gzip, gzip", "compress"} {
		refused := s.post(path, small, append(s.signature("webhook", secret, "d7", small), "Content-Encoding", coding)...).Want(415)
		if !strings.Contains(string(refused.Body), "gzip") {
			t.Errorf("%s: %s, want the coding that is accepted", coding, refused.Body)
		}
	}
	s.post("/inbound/"+s.A.ID+"/github", small, "Content-Encoding", "br").Want(415)
	s.wantItems(memory.Prefix, 1)
	s.Do("POST", "/companies/"+s.A.ID+"/integrations/webhook", s.A.Token, upsert, "Content-Encoding", "gzip").Want(415)
}

// TestReceive_Gzip_Memory decodes what a stranger sends only as far as there is memory for it, and gives the memory back.
func TestReceive_Gzip_Memory(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	bomb := zipped(t, strings.Repeat("0", 20<<20))
	send := func() *webtest.Response {
		return s.post("/inbound/"+s.A.ID+"/github", bomb, "Content-Encoding", "gzip", "Content-Type", "application/json",
			"X-GitHub-Event", "push", "X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	}
	s.Memory.Most.Store(16 << 20)
	send().WantProblem(503, "unavailable")
	s.Memory.Most.Store(32 << 20)
	send().WantProblem(401, "unauthenticated")
	if got := s.Memory.Held(); got != 0 {
		t.Errorf("%d bytes are held in the end, want none", got)
	}
}

// TestReceive_Signatures tries each signature of an arrival, in one line or in several.
func TestReceive_Signatures(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	body := githubIssue("Bug", 1, 0)
	right := s.signature("github", githubSecret, "d", body)
	wrong := s.signature("github", "another secret", "d", body)
	at := func(pairs []string) int {
		for n, text := range pairs {
			if strings.HasPrefix(text, "sha256=") {
				return n
			}
		}
		return 0
	}
	both := append([]string{}, right...)
	both[at(both)] = wrong[at(wrong)] + ", " + right[at(right)]
	s.post("/inbound/"+s.A.ID+"/github", body, append(both, "X-GitHub-Event", "issues")...).Want(202)
	both[at(both)] = wrong[at(wrong)] + ", " + wrong[at(wrong)]
	s.post("/inbound/"+s.A.ID+"/github", body, append(both, "X-GitHub-Event", "issues")...).Want(401)
}

// TestReceive_Large takes an arrival of GitHub's up to its own limit, also as a form, and refuses a larger one by name.
func TestReceive_Large(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	push := func(bytes int) string {
		return `{"ref":"main",` + oldName + `,"head_commit":{"message":"` + strings.Repeat("x", bytes) + `"}}`
	}
	issue := fmt.Sprintf(`{"action":"opened",%s,"issue":{"id":1,"number":1,"title":"Long","body":%q}}`, oldName, strings.Repeat("long ", 1<<20))
	s.wantReceipt(s.sent(s.send("github", githubSecret, "d1", issue, "X-GitHub-Event", "issues"), 202), "memory.upsert permitted created")
	const unmapped = "no rule of the mapping matches"
	for range 2 { // it is decided again
		if got := s.sent(s.send("github", githubSecret, "d2", push(24<<20), "X-GitHub-Event", "push"), 202); got.Reason != unmapped {
			t.Errorf("a push took no effect because %q, want %q", got.Reason, unmapped)
		}
	}
	s.send("github", "another secret", "d3", push(24<<20), "X-GitHub-Event", "push").Want(401)
	form := "payload=" + url.QueryEscape(strings.Repeat(" ", 1<<20)+strings.ReplaceAll(issue, "Long", "Form"))
	s.wantReceipt(s.sent(s.send("github", githubSecret, "d4", form, "X-GitHub-Event", "issues", "Content-Type", "application/x-www-form-urlencoded"), 202),
		"memory.upsert permitted updated")
	files := `{"ref":"main",` + oldName + `,"commits":[{"added":[` + strings.Repeat(`"src/a/long/path/of/a.go",`, 200_000) + `"b.go"]}]}`
	s.send("github", githubSecret, "d6", files, "X-GitHub-Event", "push").Want(202)
	many := `{` + oldName + `,"x":[` + strings.Repeat("1,", 2<<20) + `1]}`
	s.send("github", githubSecret, "d7", many, "X-GitHub-Event", "issues").WantProblem(422, "invalid")
	s.send("github", githubSecret, "d8", many, "X-GitHub-Event", "push").Want(202) // nothing reads it
	s.send("github", githubSecret, "d9", many).WantProblem(400, "malformed")
	refused := s.send("github", githubSecret, "d5", push(26<<20), "X-GitHub-Event", "push").Want(413)
	if !strings.Contains(string(refused.Body), "25 MB") {
		t.Errorf("answer %s, want GitHub's limit in it", refused.Body)
	}
}
