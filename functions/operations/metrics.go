package operations

import (
	"context"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/openmetrics"
	"orgops/shared/insight/assessment"
	"orgops/shared/web"
)

type metricsOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// exampleText begins what getMetrics answers for a new company.
const exampleText = `# TYPE orgops_delivery_objective_ratio gauge
# HELP orgops_delivery_objective_ratio Share of the delivery attempts that should succeed.
orgops_delivery_objective_ratio{company="01a20244-39ea-7ddd-8590-180f2855ca42"} 0.99
# EOF
`

// metricsOperation documents the answer, which is text.
func metricsOperation(op huma.Operation) huma.Operation {
	mediaType, _, _ := strings.Cut(openmetrics.Type, ";")
	op.Responses = map[string]*huma.Response{"200": {
		Description: "OK",
		Content:     map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: huma.TypeString}, Example: exampleText}},
	}}
	return op
}

func (d Deps) getMetrics(ctx context.Context, _ *struct{}) (*metricsOutput, error) {
	r, err := d.reliability(ctx)
	if err != nil {
		return nil, err
	}
	return &metricsOutput{ContentType: openmetrics.Type, Body: metrics(r, web.CallerOf(ctx).Company)}, nil
}

// metrics writes what getReliability answers as OpenMetrics. Every value is a gauge, because the context counts in windows.
func metrics(r assessment.Reliability, company string) []byte {
	w := openmetrics.New("company", company)
	w.Gauge("orgops_context_version", "Number of changes that the company's context includes.").Add(float64(r.ContextVersion))
	w.Gauge("orgops_delivery_objective_ratio", "Share of the delivery attempts that should succeed.").Add(r.Objective)
	writeWindows(w, r)
	writeBacklog(w, r.Backlog)
	writeEndpoints(w, r.Endpoints)
	writeSyncs(w, r.Syncs)
	return w.Text()
}

func writeWindows(w *openmetrics.Writer, r assessment.Reliability) {
	attempts := w.Gauge("orgops_delivery_attempts", "Delivery attempts of a window of time that ends now.")
	for _, one := range r.Windows {
		attempts.Add(float64(one.Delivered), "window", span(one.Seconds), "outcome", "delivered")
		attempts.Add(float64(one.Failed), "window", span(one.Seconds), "outcome", "failed")
	}
	success := w.Gauge("orgops_delivery_success_ratio", "Share of a window's attempts that succeeded; absent without attempts.")
	for _, one := range r.Windows {
		success.AddIf(one.SuccessRate, "window", span(one.Seconds))
	}
	burn := w.Gauge("orgops_delivery_burn_rate", "Failures as a multiple of those that the objective allows; absent below 20 attempts.")
	for _, one := range r.Windows {
		burn.AddIf(one.BurnRate, "window", span(one.Seconds))
	}
	firing := w.Gauge("orgops_delivery_alert", "1 while the burn rates of both windows reach the threshold.")
	for _, a := range r.Alerts {
		fires := a.Status == assessment.Fail || a.Status == assessment.Warn
		firing.Add(truth(fires), "short", span(a.ShortSeconds), "long", span(a.LongSeconds))
	}
}

func writeBacklog(w *openmetrics.Writer, b assessment.Backlog) {
	backlog := w.Gauge("orgops_deliveries", "Deliveries that are not delivered, by state.")
	backlog.Add(float64(b.Waiting), "state", "waiting")
	backlog.Add(float64(b.Held), "state", "held")
	backlog.Add(float64(b.Dead), "state", "dead")
	w.Gauge("orgops_oldest_waiting_seconds", "How long the oldest event has been waiting for its delivery, at least.").Add(float64(b.OldestSeconds))
}

func writeEndpoints(w *openmetrics.Writer, endpoints []assessment.EndpointReliability) {
	attempts := w.Gauge("orgops_endpoint_attempts", "Delivery attempts to an endpoint in the last 24 hours.")
	for _, e := range endpoints {
		attempts.Add(float64(e.Delivered), "provider", e.Provider, "outcome", "delivered")
		attempts.Add(float64(e.Failed), "provider", e.Provider, "outcome", "failed")
	}
	backlog := w.Gauge("orgops_endpoint_deliveries", "Deliveries to an endpoint that are not delivered, by state.")
	for _, e := range endpoints {
		backlog.Add(float64(e.Waiting), "provider", e.Provider, "state", "waiting")
		backlog.Add(float64(e.Held), "provider", e.Provider, "state", "held")
		backlog.Add(float64(e.Dead), "provider", e.Provider, "state", "dead")
	}
	enabled := w.Gauge("orgops_endpoint_enabled", "1 while the endpoint is enabled.")
	for _, e := range endpoints {
		enabled.Add(truth(e.Enabled), "provider", e.Provider)
	}
	breaker := w.StateSet("orgops_endpoint_breaker", "State of the endpoint's breaker.")
	for _, e := range endpoints {
		for _, state := range assessment.BreakerStates() {
			breaker.Add(truth(e.Breaker == state), "provider", e.Provider, "orgops_endpoint_breaker", state)
		}
	}
}

func writeSyncs(w *openmetrics.Writer, syncs []assessment.SyncReliability) {
	failures := w.Gauge("orgops_sync_failures", "Failed live syncs of a provider since its last successful one.")
	for _, s := range syncs {
		failures.Add(float64(s.FailuresInRow), "provider", s.Provider)
	}
	succeeded := w.Gauge("orgops_sync_last_success_timestamp_seconds", "When the last successful live sync of a provider ended; absent if none has.")
	for _, s := range syncs {
		if s.LastSucceededAt != nil {
			succeeded.Add(float64(s.LastSucceededAt.UnixMilli())/1000, "provider", s.Provider)
		}
	}
}

// span writes a window's length as Prometheus does, such as 5m, 6h or 3d.
func span(seconds int64) string {
	const hour, day = 3600, 86400
	switch {
	case seconds >= day:
		return fmt.Sprintf("%dd", seconds/day)
	case seconds >= hour:
		return fmt.Sprintf("%dh", seconds/hour)
	}
	return fmt.Sprintf("%dm", seconds/60)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
