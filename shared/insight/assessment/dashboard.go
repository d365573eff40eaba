package assessment

import (
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Dashboard summarises the company's facts in widgets.
type Dashboard struct {
	ContextVersion int64     `json:"contextVersion" doc:"version of the company context behind the result" example:"1284"`
	AsOf           time.Time `json:"asOf" doc:"the minute for which the result holds"`
	FormulaVersion string    `json:"formulaVersion" doc:"version of the rules, weights and thresholds" example:"1"`
	Widgets        []Widget  `json:"widgets" doc:"the tiles, in the order to show them" nullable:"false"`
}

// Widget describes one tile of the dashboard.
type Widget struct {
	ID    string `json:"id" doc:"stable name of the widget" enum:"health,readiness,attention,goals,memory,deliveries,integrations,recommendations,timeline,approvals"`
	Kind  string `json:"kind" doc:"how to draw it" enum:"score,count,series,list"`
	Title string `json:"title" doc:"heading" example:"Platform health"`
	Data  any    `json:"data" doc:"an object whose members depend on the widget: health and readiness are as their routes return them, other widgets have counts and first items"`
	Href  string `json:"href" doc:"path of the data that the widget summarises" format:"uri-reference"`
}

// DeliverySeries counts the attempts of 24 hours and of 30 days.
type DeliverySeries struct {
	Points  []DeliveryPoint `json:"points" nullable:"false" doc:"24 points, one for each hour, oldest first; the last is the current hour"`
	Daily   []DeliveryPoint `json:"daily" nullable:"false" doc:"30 points, one for each day, oldest first; the last is today"`
	Pending int             `json:"pending" doc:"deliveries that wait for an attempt" format:"int32"`
	Held    int             `json:"held" doc:"deliveries held because their endpoint was not allowed to receive events" format:"int32"`
	Dead    int             `json:"dead" doc:"dead letters" format:"int32"`
}

// DeliveryPoint counts the attempts of an hour or a day.
type DeliveryPoint struct {
	At        time.Time `json:"at" doc:"start of the hour or day, in UTC"`
	Delivered int64     `json:"delivered" doc:"attempts that were answered 2xx"`
	Failed    int64     `json:"failed" doc:"all other attempts"`
}

// ConnectorSummary describes an integration in the dashboard.
type ConnectorSummary struct {
	Provider string            `json:"provider" doc:"name of the provider"`
	Kind     string            `json:"kind" doc:"kind of connector"`
	State    integration.State `json:"state" doc:"whether it is in the sandbox or certified" enum:"sandbox,certified"`
	Enabled  bool              `json:"enabled" doc:"false: nothing goes in or out"`
}

// Listing holds the first items of a list in the dashboard, and the length of the whole list.
type Listing[T any] struct {
	Items []T `json:"items" doc:"the first ten items"`
	Total int `json:"total" doc:"number of items in the whole list" format:"int32"`
}

const maxTile = 10

// DashboardOf computes the dashboard. References begin with path, the company's path.
func DashboardOf(p projection.Context, asOf time.Time, path string) Dashboard {
	v := look(p, asOf, path)
	health := health(v)
	goals := p.Goals
	goals.Listed, goals.Former, goals.Providers = goals.Listed[:min(len(goals.Listed), maxTile)], nil, nil
	advice, needs := v.open(), v.attention(health)
	return Dashboard{
		ContextVersion: p.ContextVersion, AsOf: asOf, FormulaVersion: FormulaVersion,
		Widgets: []Widget{
			{"health", "score", "Platform health", health, v.href("/mission-control/health")},
			{"readiness", "score", "Company readiness", readiness(v, health), v.href("/mission-control/readiness")},
			{"attention", "list", "Needs attention", Listing[Need]{needs[:min(len(needs), maxTile)], len(needs)}, v.href("/intelligence/brief")},
			{"goals", "list", "Goals", goals, v.href(currentGoals)},
			{"memory", "count", "Memory", p.Memory, v.href("/memory")},
			{"deliveries", "series", "Webhook deliveries", v.series(), v.href("/integrations")},
			{"integrations", "list", "Integrations", v.connectors(), v.href("/integrations")},
			{"recommendations", "list", "Recommended next", Listing[Recommendation]{advice[:min(len(advice), maxTile)], len(advice)}, v.href("/intelligence/recommendations")},
			{"approvals", "count", "Approvals", v.approvals(), v.href(approvalsPath)},
			{"timeline", "list", "Timeline", Listing[timeline.Entry]{p.Timeline, len(p.Timeline)}, v.href("/mission-control/timeline")},
		},
	}
}

func (v view) series() DeliverySeries {
	s := DeliverySeries{
		Points: v.points(v.Deliveries.Hourly, time.Hour, 24), Daily: v.points(v.Deliveries.Daily, day, 30), Pending: v.Deliveries.Pending.Total(),
	}
	for _, p := range v.providers {
		e := v.Deliveries.Endpoints[p]
		s.Held, s.Dead = s.Held+e.Held.Total(), s.Dead+e.Dead.Total()
	}
	return s
}

// points returns the last n steps of a window, up to the step of asOf.
func (v view) points(w projection.Window, step time.Duration, n int) []DeliveryPoint {
	all, last := make([]DeliveryPoint, n), v.asOf.Truncate(step)
	for i := range all {
		at := last.Add(time.Duration(i+1-n) * step)
		c := w.At(at)
		all[i] = DeliveryPoint{At: at, Delivered: c.Delivered, Failed: c.Failed}
	}
	return all
}

func (v view) connectors() Listing[ConnectorSummary] {
	l := Listing[ConnectorSummary]{Items: make([]ConnectorSummary, 0, len(v.providers)), Total: len(v.providers)}
	for _, p := range v.providers {
		i := v.Integrations[p]
		l.Items = append(l.Items, ConnectorSummary{Provider: p, Kind: i.Kind, State: i.State, Enabled: i.Enabled})
	}
	return l
}
