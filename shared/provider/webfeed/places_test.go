package webfeed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/certify"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// TestConnector_Fetch_Places checks that a sync and a certification take a place of the same connector for each document that
// they parse, and give it back. The test is the other side of an unbuffered channel, so neither gets on without it.
func TestConnector_Fetch_Places(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<rss><channel/></rss>"))
	}))
	t.Cleanup(server.Close)
	client := outbound.New(outbound.Options{AllowLoopback: true})
	c := New(client, time.Now)
	c.parsing = make(chan struct{})
	config := json.RawMessage(fmt.Sprintf(`{"url":%q}`, server.URL))
	tests := []struct {
		name string
		run  func() error
	}{
		{"sync", func() error {
			_, err := c.Fetch(t.Context(), connector.Fetch{Config: config})
			return err
		}},
		{"certification", func() error {
			e := certify.Examiner{Connectors: connector.New(c), Client: client, Engine: policyengine.New(time.Now), Now: time.Now}
			report, err := e.Run(t.Context(), certify.Candidate{Company: store.For(webtest.OpenStore(t), "a"), Integration: integration.Integration{
				Provider: Kind, Enabled: true, Config: config, Permissions: c.Ports(config),
			}})
			if err == nil && !report.Passed {
				err = fmt.Errorf("the certification failed: %+v", report.Checks)
			}
			return err
		}},
	}
	for _, tt := range tests {
		done := make(chan error, 1)
		go func() { done <- tt.run() }()
		select {
		case <-c.parsing:
		case err := <-done:
			t.Fatalf("%s: it ended with %v and has taken no place, want one taken", tt.name, err)
		}
		select {
		case c.parsing <- struct{}{}:
		case err := <-done:
			t.Fatalf("%s: it ended with %v and has kept its place, want it given back", tt.name, err)
		}
		errtest.Must(t, <-done)
	}
}

// TestConnector_Fetch_NoPlace ends a fetch whose time is over before a place is free.
func TestConnector_Fetch_NoPlace(t *testing.T) {
	t.Parallel()
	c := New(outbound.New(outbound.Options{}), time.Now)
	for range maxParses {
		c.parsing <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.parse(ctx, []byte("<rss/>"), Config{}, source{}, state{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
	if got, want := errtest.Message(err), "too many feeds are read at the same time; try again"; !strings.Contains(got, want) {
		t.Errorf("err = %q, want one with %q", got, want)
	}
}
