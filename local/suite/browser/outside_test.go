package browser_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/local/command/apiclient"
	"orgops/local/command/listen"
	"orgops/local/suite/servicetest"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
)

// terminal runs the line that the console gives a founder to copy: bin/orgops listen. It returns what the script needs to
// know, and the output of the command.
func terminal(t *testing.T) (env []string, printed *logtest.Log) {
	t.Helper()
	printed = &logtest.Log{}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	paste := func(w http.ResponseWriter, r *http.Request) {
		line, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		flags, ok := strings.CutPrefix(string(line), "bin/orgops listen ")
		if !ok {
			http.Error(w, "the line does not start bin/orgops listen", http.StatusBadRequest)
			return
		}
		words := strings.Fields(strings.ReplaceAll(flags, "'", ""))
		running.Go(func() {
			if err := listen.Run(ctx, words, apiclient.Terminal{Getenv: func(string) string { return "" }}, printed); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		})
		w.WriteHeader(http.StatusNoContent)
	}
	server := httptest.NewServer(http.HandlerFunc(paste))
	t.Cleanup(func() { server.Close(); stop(); running.Wait() })
	return []string{"TERMINAL=" + server.URL, "LISTEN=http://" + free(t) + "/"}, printed
}

// free returns an address of this machine that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// graveyard starts a server that stores a dead letter of the endpoint webhook with each request, because the service needs
// three days to make one. It returns what the script needs to know.
func graveyard(t *testing.T, s *servicetest.Service, company string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now().UTC()
		d := delivery.Delivery{
			Head: delivery.Head{
				EventID: id.At(at), Endpoint: "webhook", Event: "memory.created", State: delivery.Dead, CreatedAt: at, Made: 9,
			},
			Payload: json.RawMessage(`{"type":"memory.created","data":{"title":"Ten times in vain"}}`),
		}
		d.Log(delivery.Attempt{Number: 10, State: delivery.Failed, At: at, Status: http.StatusServiceUnavailable, Error: "the endpoint answered 503"})
		c := store.For(s.Process.Services.Store, company)
		endpoint, _, err := integration.Load(r.Context(), c, "webhook")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		d.Incarnation = endpoint.Incarnation
		if err := c.Commit(r.Context(), c.Create(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	return "GRAVEYARD=" + server.URL
}
