package web_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
)

type counted struct {
	Status   int
	Location string `header:"Location"`
	Body     struct {
		Count int64 `json:"count"`
	}
}

// keyed makes a harness with an operation that counts its runs and fails as its body says.
func keyed(t *testing.T) (*webtest.Harness, *atomic.Int64, chan struct{}) {
	t.Helper()
	h, done, hold := webtest.New(t), &atomic.Int64{}, make(chan struct{})
	op := func(id, path string) huma.Operation {
		return huma.Operation{OperationID: id, Method: "POST", Path: "/companies/{companyId}" + path, Security: web.Needs(user.ScopeMemoryWrite)}
	}
	huma.Register(h.API(), op("count", "/count"), func(_ context.Context, in *struct {
		Body struct {
			How string `json:"how,omitempty"`
		}
	}) (*counted, error) {
		out := &counted{Status: 201, Location: "/x"}
		out.Body.Count = done.Add(1)
		switch in.Body.How {
		case "hold":
			<-hold
		case "refuse":
			return nil, fault.New(fault.NotFound, "no")
		case "panic":
			panic("no")
		}
		return out, nil
	})
	type secret struct {
		Body struct {
			SigningSecret string `json:"signingSecret"`
		}
	}
	huma.Register(h.API(), op("rotate", "/rotate"), func(context.Context, *struct{}) (*secret, error) {
		out := &secret{}
		out.Body.SigningSecret = fmt.Sprintf("whsec_%d", done.Add(1))
		return out, nil
	})
	type private struct {
		CacheControl string `header:"Cache-Control"`
		Body         struct {
			At string `json:"at"`
		}
	}
	huma.Register(h.API(), op("allow", "/allow"), func(context.Context, *struct{}) (*private, error) {
		out := &private{CacheControl: "no-store"}
		out.Body.At = fmt.Sprintf("https://agent.example.com/?code=whsec_%d", done.Add(1))
		return out, nil
	})
	type cookie struct {
		SetCookie http.Cookie `header:"Set-Cookie"`
	}
	huma.Register(h.API(), op("connect", "/connect"), func(context.Context, *struct{}) (*cookie, error) {
		return &cookie{http.Cookie{Name: "trip", Value: strconv.FormatInt(done.Add(1), 10)}}, nil
	})
	return h, done, hold
}

func TestServer_IdempotencyKey(t *testing.T) {
	t.Parallel()
	h, done, _ := keyed(t)
	path := "/companies/" + h.A.ID + "/count"
	post := func(token, body, key string) *webtest.Response {
		return h.Do("POST", path, token, body, "Idempotency-Key", key)
	}
	first := post(h.A.Token, `{}`, `"k1"`).Want(201)
	again := post(h.A.Token, `{}`, "k1").Want(201)
	if diff := cmp.Diff(string(first.Body), string(again.Body)); diff != "" {
		t.Errorf("the second answer differs (-first +second):\n%s", diff)
	}
	for name, want := range map[string]string{"Location": "/x", "Content-Type": "application/json"} {
		if got := again.Header.Get(name); got != want {
			t.Errorf("%s of the second answer = %q, want %q", name, got, want)
		}
	}
	wantRuns(t, done, 1)
	p := post(h.A.Token, `{"how":"x"}`, "k1").WantProblem(422, "invalid")
	if got, want := p.Errors[0].Pointer, "#/header/Idempotency-Key"; got != want {
		t.Errorf("pointer = %q, want %q", got, want)
	}
	post(h.A.Token, `{}`, "k2").Want(201)
	h.Do("POST", "/companies/"+h.B.ID+"/count", h.B.Token, `{}`, "Idempotency-Key", "k1").Want(201)
	wantRuns(t, done, 3) // a key with another text or of another company is another key
	other := h.UserToken(h.A.ID, "0198c5f2-7a00-7000-8000-00000000000b", user.Founder)
	if got := post(other, `{"how":"y"}`, "k1").Want(201); bytes.Equal(got.Body, first.Body) {
		t.Errorf("another user's request with the key got the first user's answer: %s", got.Body)
	}
	wantRuns(t, done, 4)
	for range 2 { // a refused or failed request runs again
		post(h.A.Token, `{"how":"refuse"}`, "k3").WantProblem(404, "not-found")
		post(h.A.Token, `{"how":"panic"}`, "k4").WantProblem(500, "internal")
		post(h.A.Token, `{"how":5}`, "k5").WantProblem(422, "invalid")
	}
	wantRuns(t, done, 8)
	for _, key := range []string{" ", `""`, "a b", "é", strings.Repeat("k", 256)} {
		post(h.A.Token, `{}`, key).WantProblem(400, "malformed")
	}
	post("", `{}`, "k1").WantProblem(401, "unauthenticated")
}

// TestServer_IdempotencyKey_Secret replays an answer with a secret, and finds no secret in the store.
func TestServer_IdempotencyKey_Secret(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/rotate": `"signingSecret":"whsec_1"`, "/allow": "code=whsec_1"} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			keepsSealed(t, path, want)
		})
	}
}

func keepsSealed(t *testing.T, path, want string) {
	t.Helper()
	h, done, _ := keyed(t)
	post := func() string {
		return string(h.Do("POST", "/companies/"+h.A.ID+path, h.A.Token, nil, "Idempotency-Key", "k").Want(200).Body)
	}
	first, again := post(), post()
	if !strings.Contains(first, want) {
		t.Errorf("first answer %s, want one with %s", first, want)
	}
	if again != first {
		t.Errorf("second answer %s, want the first, %s", again, first)
	}
	wantRuns(t, done, 1)
	page, err := store.For(h.Store, h.A.ID).Query(t.Context(), store.Query{Prefix: "IDEMPOTENCY#"})
	errtest.Must(t, err)
	if got := len(page.Items); got != 1 {
		t.Fatalf("%d requests are stored, want 1", got)
	}
	var stored struct{ Body []byte }
	errtest.Must(t, page.Items[0].Decode(&stored))
	if len(stored.Body) == 0 {
		t.Error("the answer is not stored")
	}
	if bytes.Contains(stored.Body, []byte("whsec_")) {
		t.Errorf("the store holds the secret in the clear: %s", stored.Body)
	}
}

// TestServer_IdempotencyKey_Cookie runs a request again whose answer sets a cookie: a repeat whose answer lacked it would be of no use.
func TestServer_IdempotencyKey_Cookie(t *testing.T) {
	t.Parallel()
	h, done, _ := keyed(t)
	for n := range 2 {
		answer := h.Do("POST", "/companies/"+h.A.ID+"/connect", h.A.Token, nil, "Idempotency-Key", "k").Want(204)
		if got, want := answer.Header.Get("Set-Cookie"), fmt.Sprintf("trip=%d", n+1); got != want {
			t.Errorf("answer %d sets the cookie %q, want %q", n+1, got, want)
		}
	}
	wantRuns(t, done, 2)
}

// wantRuns checks how often the operation has run.
func wantRuns(t *testing.T, done *atomic.Int64, want int64) {
	t.Helper()
	if got := done.Load(); got != want {
		t.Errorf("the operation ran %d times, want %d", got, want)
	}
}

// A handler may take longer than settleTimeout.
func TestServer_IdempotencyKey_SlowHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, done, hold := keyed(t)
		post := func() *webtest.Response {
			return h.Do("POST", "/companies/"+h.A.ID+"/count", h.A.Token, `{"how":"hold"}`, "Idempotency-Key", "k")
		}
		time.AfterFunc(15*time.Second, func() { close(hold) })
		first, again := post().Want(201), post().Want(201)
		if diff := cmp.Diff(string(first.Body), string(again.Body)); diff != "" {
			t.Errorf("the second answer differs (-first +second):\n%s", diff)
		}
		wantRuns(t, done, 1)
	})
}

// Repeats during the first request get 409, and the operation runs once.
func TestServer_IdempotencyKey_AtOnce(t *testing.T) {
	t.Parallel()
	h, done, hold := keyed(t)
	post := func() *webtest.Response {
		return h.Do("POST", "/companies/"+h.A.ID+"/count", h.A.Token, `{"how":"hold"}`, "Idempotency-Key", "k")
	}
	statuses := make(chan int)
	for range 8 {
		go func() { statuses <- post().Status }()
	}
	counts := map[int]int{}
	for range 7 { // all but the first
		counts[<-statuses]++
	}
	close(hold)
	counts[<-statuses]++
	if diff := cmp.Diff(map[int]int{201: 1, 409: 7}, counts); diff != "" {
		t.Errorf("answers by status (-want +got):\n%s", diff)
	}
	wantRuns(t, done, 1)
	post().Want(201)
}
