package operations_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/assessment"
	"orgops/shared/testkit/errtest"
)

// failing makes a company with an endpoint that fails, whose breaker is open, and another that works.
func failing(t testing.TB) *company {
	t.Helper()
	c := of(t, setup(t))
	c.endpoint("webhook")
	c.endpoint("webhook-b")
	for n := range 30 {
		at := noon().Add(-time.Duration(n) * time.Minute)
		c.deliver("webhook", "memory.created", at, delivery.Dead)
		c.deliver("webhook-b", "memory.created", at, delivery.Delivered)
	}
	bounds := json.RawMessage(`{"circuit":{"open":30000000000,"openUntil":"2126-03-02T12:00:10Z"}}`)
	errtest.Must(t, c.items().Commit(t.Context(), c.items().Create(integration.BoundsKey("webhook", ""), integration.BoundsEntity, bounds)))
	c.learn()
	return c
}

func TestReliability(t *testing.T) {
	t.Parallel()
	c := failing(t)
	var got assessment.Reliability
	first := c.Do("GET", path(c.Harness, "/reliability"), c.A.Token, nil).Want(200).JSON(&got)
	breakers := map[string]string{}
	for _, e := range got.Endpoints {
		breakers[e.Provider] = e.Breaker
	}
	if diff := cmp.Diff(map[string]string{"webhook": "open", "webhook-b": "closed"}, breakers); diff != "" {
		t.Errorf("breakers differ (-want +got):\n%s", diff)
	}
	hour := assessment.ReliabilityWindow{Seconds: 3600, Delivered: 30, Failed: 30, SuccessRate: new(0.5), BurnRate: new(50.0)}
	if diff := cmp.Diff(hour, got.Windows[1]); diff != "" {
		t.Errorf("the hour differs (-want +got):\n%s", diff)
	}
	if got.Backlog.Dead != 30 {
		t.Errorf("%d dead letters, want 30", got.Backlog.Dead)
	}
	etag := first.Header.Get("ETag")
	c.Do("GET", path(c.Harness, "/reliability"), c.A.Token, nil, "If-None-Match", etag).Want(http.StatusNotModified)
	item, err := c.items().Get(t.Context(), integration.BoundsKey("webhook", ""), nil)
	errtest.Must(t, err)
	errtest.Must(t, c.items().Commit(t.Context(), c.items().Delete(item.Key, item.Entity, item.Version)))
	c.Do("GET", path(c.Harness, "/reliability"), c.A.Token, nil, "If-None-Match", etag).Want(200)
}

func TestReliability_NoFacts(t *testing.T) {
	t.Parallel()
	h := setup(t)
	var got map[string]any
	h.Do("GET", path(h, "/reliability"), h.A.Token, nil).Want(200).JSON(&got)
	for _, list := range []string{"endpoints", "syncs"} {
		if diff := cmp.Diff([]any{}, got[list]); diff != "" {
			t.Errorf("%s differ (-want +got):\n%s", list, diff)
		}
	}
}

// TestMetrics reads the metrics with the parser of Prometheus.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := failing(t)
	answer := c.Do("GET", path(c.Harness, "/metrics"), c.A.Token, nil).Want(200)
	contentType := answer.Header.Get("Content-Type")
	if want := "application/openmetrics-text; version=1.0.0; charset=utf-8"; contentType != want {
		t.Errorf("Content-Type %q, want %q", contentType, want)
	}
	got := parse(t, answer.Body, contentType)
	company := `company="` + c.A.ID + `"`
	for series, want := range map[string]float64{
		`orgops_delivery_attempts{` + company + `, outcome="failed", window="1h"}`:                       30,
		`orgops_delivery_burn_rate{` + company + `, window="3d"}`:                                        50,
		`orgops_delivery_alert{` + company + `, long="1h", short="5m"}`:                                  1,
		`orgops_deliveries{` + company + `, state="dead"}`:                                               30,
		`orgops_endpoint_breaker{` + company + `, orgops_endpoint_breaker="open", provider="webhook"}`:   1,
		`orgops_endpoint_breaker{` + company + `, orgops_endpoint_breaker="open", provider="webhook-b"}`: 0,
		`orgops_endpoint_deliveries{` + company + `, provider="webhook-b", state="dead"}`:                0,
		`orgops_oldest_waiting_seconds{` + company + `}`:                                                 0,
	} {
		value, ok := got[series]
		if !ok {
			t.Errorf("no series %s", series)
		}
		if value != want {
			t.Errorf("%s = %v, want %v", series, value, want)
		}
	}
}

// parse returns the value of each series.
func parse(t testing.TB, text []byte, contentType string) map[string]float64 {
	t.Helper()
	parser, err := textparse.New(text, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	errtest.Must(t, err)
	all := map[string]float64{}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if entry == textparse.EntrySeries {
			var series labels.Labels
			parser.Labels(&series)
			_, _, value := parser.Series()
			name := series.Get("__name__")
			all[name+strings.Replace(series.String(), `__name__="`+name+`", `, "", 1)] = value
		}
	}
}
