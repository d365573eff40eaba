package shelf_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/scheme"
	"orgops/shared/provider/shelf"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// linear returns the connector of Linear.
func linear(client *outbound.Client, now func() time.Time) *shelf.Both {
	for _, c := range shelf.All(client, now) {
		if c.Kind() == "linear" {
			return c.(*shelf.Both)
		}
	}
	panic("no connector is of the kind linear")
}

func conn() *shelf.Both { return linear(outbound.New(outbound.Options{}), time.Now) }

// mappings keeps the default mapping compiled, as a process does.
var mappings mapping.Cache

// actions handles an arrival as the service does: by the default mapping, after which intake validates the drafts.
func actions(body []byte) ([]connector.Action, error) {
	m, err := mappings.Default(conn())
	if err != nil {
		return nil, err
	}
	d, err := mapping.Read(conn(), json.RawMessage(`{}`), nil, http.Header{}, body)
	if err != nil {
		return nil, err
	}
	matches, err := m.Apply(context.Background(), d)
	if err != nil {
		return nil, err
	}
	mapped := mapping.Actions(matches)
	return mapped, intake.Validate(mapped)
}

// signed signs as Linear documents it, apart from the connector's code.
func signed(secret string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	h := http.Header{}
	h.Set("linear-signature", hex.EncodeToString(mac.Sum(nil)))
	return h
}

// verified describes an arrival, and whether its signature is good.
type verified struct {
	name    string
	secrets []string
	header  http.Header
	body    string
	ok      bool
}

func TestLinear_Verify(t *testing.T) {
	t.Parallel()
	const secret = "lin_wh_secret"
	body := []byte(`{"action":"create"}`)
	good := signed(secret, body)
	now := time.Now()
	sent := func(ago time.Duration) string {
		return fmt.Sprintf(`{"action":"create","webhookTimestamp":%d}`, now.Add(-ago).UnixMilli())
	}
	timed := func(name string, ago time.Duration, ok bool) verified {
		return verified{name, []string{secret}, signed(secret, []byte(sent(ago))), sent(ago), ok}
	}
	short := http.Header{}
	short.Set("Linear-Signature", "abcd")
	tests := []verified{
		timed("sent a short time ago", 5*time.Minute-time.Second, true),
		timed("sent too long ago", 5*time.Minute+time.Second, false),
		timed("sent by a fast clock", time.Second-5*time.Minute, true),
		timed("sent in the future", -5*time.Minute-time.Second, false),
		{"not JSON", []string{secret}, signed(secret, []byte("x")), "x", true}, // which the mapping refuses
		{"good", []string{secret}, good, string(body), true},
		{"an earlier secret", []string{"newer", secret}, good, string(body), true},
		{"another body", []string{secret}, good, `{"action":"remove"}`, false},
		{"another secret", []string{"other"}, good, string(body), false},
		{"no secret", nil, good, string(body), false},
		{"an empty secret", []string{""}, signed("", body), string(body), false},
		{"no signature", []string{secret}, http.Header{}, string(body), false},
		{"a short signature", []string{secret}, short, string(body), false},
	}
	for _, tt := range tests {
		id, err := conn().Verify(nil, tt.secrets, scheme.Request{Header: tt.header, Body: []byte(tt.body)}, now)
		want := fault.Unauthenticated
		if tt.ok {
			want = fault.KindOf(nil)
		}
		if got := fault.KindOf(err); got != want {
			t.Errorf("%s: %v, want kind %v", tt.name, err, want)
		}
		if id != "" {
			t.Errorf("%s: id %q, want none, because Linear signs no id", tt.name, id)
		}
	}
	if diff := cmp.Diff(good, conn().Sign(nil, secret, "", scheme.Request{Body: body}, time.Now())); diff != "" {
		t.Errorf("Sign differs (-want +got):\n%s", diff)
	}
}

func TestLinear_Mapping(t *testing.T) {
	t.Parallel()
	_, sample := conn().SampleArrival(json.RawMessage(`{}`))
	const update = `{"action":"create","type":"ProjectUpdate","url":"https://linear.app/u","data":{"id":"u","body":"All well","health":"onTrack","projectId":"p","project":{"name":"Beta"}}}`
	tests := []struct{ name, body, want string }{
		{"the sample", string(sample), "memory.upsert A sample issue"},
		{"a project update", update, "timeline.note Beta: onTrack"},
		{"a changed project update", strings.Replace(update, "create", "update", 1), ""},
		{"a removed issue", strings.Replace(string(sample), "create", "remove", 1), ""},
		{"an issue in the trash", strings.Replace(string(sample), `"id":`, `"trashed":true,"id":`, 1), ""},
		{"a comment", `{"action":"create","type":"Comment","data":{"id":"c","body":"hi"}}`, ""},
	}
	for _, tt := range tests {
		mapped, err := actions([]byte(tt.body))
		errtest.Must(t, err)
		got := ""
		for _, a := range mapped {
			got += string(a.Port) + " "
			switch {
			case a.Memory != nil:
				got += a.Memory.Title
			case a.Note != nil:
				got += a.Note.Title
			}
		}
		if got != tt.want {
			t.Errorf("%s: actions %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzLinear_Mapping checks that an arrival gives actions that are valid, or a refusal with a reason.
func FuzzLinear_Mapping(f *testing.F) {
	_, sample := conn().SampleArrival(nil)
	f.Add(string(sample))
	f.Add(`{"action":"update","type":"Project","data":{"id":"p","name":7,"progress":"x","targetDate":"2026"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		_, err := actions([]byte(body))
		if kind := fault.KindOf(err); err != nil && kind == fault.Internal {
			t.Errorf("%q: %v, want a refusal with a reason", body, err)
		}
	})
}
