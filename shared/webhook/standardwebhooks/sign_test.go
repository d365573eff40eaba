package standardwebhooks_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// Secrets of 24 and 64 bytes, the minimum and the maximum.
const (
	short = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	long  = "whsec_ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTlJWWl5iZmpucnZ6foKGiow=="
)

const (
	vectorID   = "0190163d-8694-739b-aea5-966c26f8ad91"
	vectorTime = 1700000000
	vectorBody = `{"type":"memory.created","data":{"title":"Grüße"}}`
	// Computed with Python's hmac and base64 over id.timestamp.body.
	signedShort = "v1,BiMDMyhivujMFBea81ypKCE0i3uGFKQzbOznxmpOwdk="
	signedLong  = "v1,XMmg2BINhG8B5BzeUs6vkeTDNhg+32JZ0eihkAKCUTo="
)

func signer(tb testing.TB, secrets ...string) *standardwebhooks.Signer {
	tb.Helper()
	s, err := standardwebhooks.NewSigner(secrets)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSigner_Sign(t *testing.T) {
	t.Parallel()
	s := signer(t, short, long)
	want := signedShort + " " + signedLong
	var wg sync.WaitGroup
	for range 8 { // concurrent calls give the same result
		wg.Go(func() {
			for range 50 {
				if got := s.Sign(vectorID, vectorTime, []byte(vectorBody)); got != want {
					t.Errorf("signatures = %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
	many := make([]string, 12)
	for i := range many {
		many[i] = short
	}
	if n := len(strings.Fields(signer(t, many...).Sign("a", 1, nil))); n != 10 {
		t.Errorf("%d signatures, want 10", n)
	}
}

func TestNewSigner_refuses(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{nil, {"whsec_"}, {short, "secret"}} {
		if _, err := standardwebhooks.NewSigner(secrets); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v: %v, want fault.Invalid", secrets, err)
		}
	}
}

func TestCheckSecret(t *testing.T) {
	t.Parallel()
	of := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n)) }
	tests := []struct {
		name, secret string
		ok           bool
	}{
		{"24 bytes", of(24), true},
		{"64 bytes", of(64), true},
		{"23 bytes", of(23), false},
		{"65 bytes", of(65), false},
		{"no prefix", strings.TrimPrefix(of(32), "whsec_"), false},
		{"no padding", strings.TrimRight(of(32), "="), false},
		{"line break", of(24)[:20] + "\n" + of(24)[20:], false},
		{"url alphabet", "whsec_" + strings.Repeat("_-", 16), false},
		{"empty", "", false},
	}
	for _, tt := range tests {
		err := standardwebhooks.CheckSecret(tt.secret)
		if (err == nil) != tt.ok {
			t.Errorf("%s: err = %v, want the secret accepted: %t", tt.name, err, tt.ok)
		}
		if err != nil && tt.secret != "" && strings.Contains(err.Error(), tt.secret[6:]) {
			t.Errorf("%s: the error contains the secret", tt.name)
		}
	}
}

func TestGenerateSecret(t *testing.T) {
	t.Parallel()
	got, err := standardwebhooks.GenerateSecret(bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
	errtest.Must(t, err)
	errtest.Must(t, standardwebhooks.CheckSecret(got))
	if want := "whsec_" + strings.Repeat("AQEB", 10) + "AQE="; got != want {
		t.Errorf("secret = %q, want %q", got, want)
	}
	if _, err := standardwebhooks.GenerateSecret(strings.NewReader("short")); err == nil {
		t.Error("a secret was made from too few random bytes")
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	at := time.Unix(vectorTime, 0)
	valid := func() http.Header { return signer(t, short).Headers(vectorID, []byte(vectorBody), at) }
	with := func(name, value string) http.Header {
		h := valid()
		h.Set(name, value)
		return h
	}
	tests := []struct {
		name    string
		secrets []string
		header  http.Header
		body    string
		now     time.Time
		want    string // part of the error; empty: accepted
	}{
		{"right", []string{short}, valid(), vectorBody, at, ""},
		{"an older secret signs", []string{long, short}, valid(), vectorBody, at, ""},
		{"an invalid secret is ignored", []string{"junk", short}, valid(), vectorBody, at, ""},
		{"one of several signatures", []string{short}, with("Webhook-Signature", "v1a,xx v1,AAAA "+signedLong+" "+signedShort), vectorBody, at, ""},
		{"five minutes late", []string{short}, valid(), vectorBody, at.Add(5 * time.Minute), ""},
		{"five minutes early", []string{short}, valid(), vectorBody, at.Add(-5 * time.Minute), ""},
		{"too late", []string{short}, valid(), vectorBody, at.Add(5*time.Minute + time.Second), "5 minutes"},
		{"too early", []string{short}, valid(), vectorBody, at.Add(-5*time.Minute - time.Second), "5 minutes"},
		{"no secrets", nil, valid(), vectorBody, at, "no signing secret"},
		{"other secret", []string{long}, valid(), vectorBody, at, "no v1 signature matches"},
		{"other body", []string{short}, valid(), vectorBody + " ", at, "no v1 signature matches"},
		{"other id", []string{short}, with("Webhook-Id", "other"), vectorBody, at, "no v1 signature matches"},
		{"other time", []string{short}, with("Webhook-Timestamp", "1700000001"), vectorBody, at, "no v1 signature matches"},
		{"other version", []string{short}, with("Webhook-Signature", "v2,"+signedShort[3:]), vectorBody, at, "no v1 signature matches"},
		{"no signature", []string{short}, with("Webhook-Signature", ""), vectorBody, at, "webhook-signature"},
		{"no id", []string{short}, with("Webhook-Id", ""), vectorBody, at, "webhook-id"},
		{"an id with a full stop", []string{short}, with("Webhook-Id", "a.b"), vectorBody, at, "webhook-id"},
		{"a long id", []string{short}, with("Webhook-Id", strings.Repeat("a", 257)), vectorBody, at, "webhook-id"},
		{"no time", []string{short}, with("Webhook-Timestamp", ""), vectorBody, at, "webhook-timestamp"},
		{"a negative time", []string{short}, with("Webhook-Timestamp", "-1700000000"), vectorBody, at, "webhook-timestamp"},
		{"a signed time", []string{short}, with("Webhook-Timestamp", "+1700000000"), vectorBody, at, "webhook-timestamp"},
		{"a huge time", []string{short}, with("Webhook-Timestamp", "99999999999999999999"), vectorBody, at, "webhook-timestamp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id, err := standardwebhooks.Verify(tt.secrets, tt.header, []byte(tt.body), tt.now)
			if tt.want == "" {
				errtest.Must(t, err)
				if id != vectorID {
					t.Errorf("id = %q, want %q", id, vectorID)
				}
				return
			}
			if got := fault.KindOf(err); got != fault.Unauthenticated {
				t.Errorf("kind = %s, want %s", got, fault.Unauthenticated)
			}
			if got := errtest.Message(err); !strings.Contains(got, tt.want) {
				t.Errorf("error %q, want one with %q", got, tt.want)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(vectorID, "1700000000", signedShort, []byte(vectorBody))
	f.Add("a.b", "-1", "v1,", []byte{})
	f.Add("", "9999999999999", "v1,AAAA v1,BBBB", []byte("x"))
	at := time.Unix(vectorTime, 0)
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		header := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
		got, err := standardwebhooks.Verify([]string{short}, header, body, at)
		if err != nil {
			if fault.KindOf(err) != fault.Unauthenticated {
				t.Errorf("err = %v, want unauthenticated", err)
			}
			return
		}
		if got != id {
			t.Errorf("id = %q, want %q", got, id)
		}
		// An accepted delivery carries a signature that the secret makes.
		if want := signer(t, short).Sign(id, at.Unix(), body); timestamp == "1700000000" && !strings.Contains(signature, want) {
			t.Errorf("accepted signature %q of %q, want only one with %q", signature, id, want)
		}
	})
}

func FuzzCheckSecret(f *testing.F) {
	for _, seed := range []string{short, long, "whsec_", "whsec_====", "WHSEC_" + short[6:]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		err := standardwebhooks.CheckSecret(secret)
		if _, signs := standardwebhooks.NewSigner([]string{secret}); (err == nil) != (signs == nil) {
			t.Errorf("%q: CheckSecret says %v, NewSigner says %v, want both to agree", secret, err, signs)
		}
		if err == nil && !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("%q is accepted, want it refused because it has no prefix", secret)
		}
	})
}

func BenchmarkSigner_Sign(b *testing.B) {
	s := signer(b, short)
	body := bytes.Repeat([]byte("x"), 300)
	b.ReportAllocs()
	for b.Loop() {
		s.Sign(vectorID, vectorTime, body)
	}
}

func BenchmarkVerify(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 300)
	at := time.Unix(vectorTime, 0)
	header := signer(b, short).Headers(vectorID, body, at)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := standardwebhooks.Verify([]string{short}, header, body, at); err != nil {
			b.Fatal(err)
		}
	}
}
