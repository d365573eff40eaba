package web_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"

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
	return h, done, hold
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	h, done, _ := keyed(t)
	path := "/companies/" + h.A.ID + "/count"
	post := func(token, body, key string) *webtest.Response {
		return h.Do("POST", path, token, body, "Idempotency-Key", key)
	}
	first := post(h.A.Token, `{}`, `"k1"`).Want(201)
	again := post(h.A.Token, `{}`, "k1").Want(201)
	if !bytes.Equal(first.Body, again.Body) || again.Header.Get("Location") != "/x" || again.Header.Get("Content-Type") != "application/json" || done.Load() != 1 {
		t.Errorf("%s, then %s %v; done %d times", first.Body, again.Body, again.Header, done.Load())
	}
	if p := post(h.A.Token, `{"how":"x"}`, "k1").WantProblem(422, "invalid"); p.Errors[0].Pointer != "#/header/Idempotency-Key" {
		t.Error(p)
	}
	post(h.A.Token, `{}`, "k2").Want(201)
	h.Do("POST", "/companies/"+h.B.ID+"/count", h.B.Token, `{}`, "Idempotency-Key", "k1").Want(201)
	if done.Load() != 3 {
		t.Error("keys with another text or company were not distinct; runs:", done.Load())
	}
	for range 2 { // a refused or failed request runs again
		post(h.A.Token, `{"how":"refuse"}`, "k3").WantProblem(404, "not-found")
		post(h.A.Token, `{"how":"panic"}`, "k4").WantProblem(500, "internal")
		post(h.A.Token, `{"how":5}`, "k5").WantProblem(422, "invalid")
	}
	if done.Load() != 7 {
		t.Error(done.Load())
	}
	for _, key := range []string{" ", `""`, "a b", "é", strings.Repeat("k", 256)} {
		post(h.A.Token, `{}`, key).WantProblem(400, "malformed")
	}
	post("", `{}`, "k1").WantProblem(401, "unauthenticated")
}

// TestIdempotencyKey_Secret replays an answer with a secret, and finds no secret in the store.
func TestIdempotencyKey_Secret(t *testing.T) {
	t.Parallel()
	h, done, _ := keyed(t)
	post := func() string {
		return string(h.Do("POST", "/companies/"+h.A.ID+"/rotate", h.A.Token, nil, "Idempotency-Key", "k").Want(200).Body)
	}
	first, again := post(), post()
	if want := `"signingSecret":"whsec_1"`; !strings.Contains(first, want) {
		t.Errorf("first answer %s, want one with %s", first, want)
	}
	if again != first {
		t.Errorf("second answer %s, want the first, %s", again, first)
	}
	if got := done.Load(); got != 1 {
		t.Errorf("the operation ran %d times, want once", got)
	}
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

// A handler may take longer than settleTimeout.
func TestIdempotencyKey_SlowHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, done, hold := keyed(t)
		post := func() *webtest.Response {
			return h.Do("POST", "/companies/"+h.A.ID+"/count", h.A.Token, `{"how":"hold"}`, "Idempotency-Key", "k")
		}
		time.AfterFunc(15*time.Second, func() { close(hold) })
		first, again := post().Want(201), post().Want(201)
		if !bytes.Equal(first.Body, again.Body) || done.Load() != 1 {
			t.Errorf("done %d times", done.Load())
		}
	})
}

// Repeats during the first request get 409, and the operation runs once.
func TestIdempotencyKey_AtOnce(t *testing.T) {
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
	if counts[201] != 1 || counts[409] != 7 || done.Load() != 1 {
		t.Error(counts, done.Load())
	}
	post().Want(201)
}
