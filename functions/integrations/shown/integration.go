// Package shown shows integrations in the API, and serves their list. The list needs no connector, so a Lambda that offers it alone
// links none.
package shown

import (
	"encoding/json"
	"time"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/selection"
	"orgops/shared/insight/projection"
)

// Integration shows an integration in the API.
type Integration struct {
	Provider      string                       `json:"provider" doc:"its name in paths: a kind such as github, or a kind and a name such as github-{name}" example:"webhook"`
	Kind          string                       `json:"kind" doc:"the connector's kind" example:"webhook"`
	Title         string                       `json:"title,omitempty" doc:"what people call it; absent: nothing but its name" example:"Shop of the EU"`
	State         integration.State            `json:"state" doc:"certified: events flow; sandbox: events are checked and held" enum:"sandbox,certified"`
	Enabled       bool                         `json:"enabled" doc:"false: nothing goes in or out"`
	Disabled      *integration.Disabled        `json:"disabled,omitempty" doc:"since when and why"`
	URL           string                       `json:"url,omitempty" doc:"the endpoint, or the feed" example:"https://example.com/hooks" format:"uri"`
	Events        []string                     `json:"events,omitempty" doc:"the events that the endpoint subscribes to" nullable:"false" example:"[\"memory.updated\"]"`
	Config        json.RawMessage              `json:"config" doc:"as configured, without secrets"`
	Permissions   []integration.Port           `json:"permissions" nullable:"false" doc:"the ports that the integration requests; a certification opens the ports that its run proved"`
	Place         *integration.Place           `json:"place,omitempty" doc:"the repository or team that the configuration names, as the provider's webhooks tell; after it is renamed its webhooks still count, and its new name is here"`
	Credentials   *integration.CredentialNames `json:"credentials,omitempty" doc:"the names of the stored credentials; absent if none are stored"`
	Connection    *integration.Connection      `json:"connection,omitempty" doc:"the access that a user has given at the provider; absent: the credentials, if any, were stored by hand"`
	Certification *Certification               `json:"certification,omitempty" doc:"the valid certification; absent if there is none"`
	Sandboxed     string                       `json:"sandboxed,omitempty" enum:"configuration,expired,failing" doc:"why it returned to the sandbox"`
	Health        Health                       `json:"health" doc:"its recent results"`
	Paused        *delivery.Pause              `json:"paused,omitempty" doc:"of an endpoint: why it gets no attempts now, and until when; its deliveries wait, and resume-integration ends the pause. A list reads the pauses of at most 20 endpoints that failed within a day, get-integration that of each"`
	Selected      []selection.Counts           `json:"selected,omitempty" doc:"of an endpoint with a filter or a transformation: what became of the events of the last days, the latest day first; only get-integration shows it"`
	Schedule      *Schedule                    `json:"schedule,omitempty" doc:"how often it is synced without a request; absent: only on request"`
	SecretAt      *time.Time                   `json:"secretAt,omitempty" doc:"when the newest signing secret was stored"`
	Version       int64                        `json:"version" doc:"increments with each change" example:"7"`
	CreatedAt     time.Time                    `json:"createdAt" doc:"when it was configured first"`
	UpdatedAt     time.Time                    `json:"updatedAt" doc:"when it last changed"`
}

// Schedule shows the schedule of an integration's syncs in the API.
type Schedule struct {
	Every    string     `json:"every" doc:"as configured" example:"1h"`
	PausedAt *time.Time `json:"pausedAt,omitempty" doc:"when five failed syncs in a row paused it; enabling, configuring or certifying the integration, or storing credentials, begins it again"`
}

// Certification shows a passed certification in the API.
type Certification struct {
	PassedAt  time.Time               `json:"passedAt" doc:"when it passed"`
	ExpiresAt time.Time               `json:"expiresAt" doc:"when it ends, 90 days later"`
	Ports     []integration.Port      `json:"ports" nullable:"false" doc:"the ports that the run proved, and that are open"`
	Report    *integration.PortReport `json:"report,omitempty" doc:"the findings of its run"`

	ClosedPorts []integration.Port `json:"closedPorts,omitempty" doc:"ports that the run proved and that were closed again, because they failed for five days; certify the integration to open them"`
}

// Of shows an integration at a time, with what the service has observed of it. The findings of its certification point below the path
// of a company.
func Of(s integration.Stored, facts projection.Context, refusals arrival.Stored, reports integration.Reports, company string, now time.Time) Integration {
	var conf struct {
		URL    string   `json:"url"`
		Events []string `json:"events"`
	}
	// A stored configuration is always an object; not every connector has url and events.
	_ = json.Unmarshal(s.Config, &conf)
	out := Integration{
		Provider: s.Provider, Kind: s.Kind, Title: s.Title, State: integration.Sandbox, Enabled: s.Enabled, Disabled: s.Disabled,
		URL: conf.URL, Events: conf.Events, Config: s.Config, Permissions: s.Permissions, Place: s.Place, Credentials: s.Credentials, Connection: s.Connection,
		Sandboxed: s.SandboxedCause, Health: health(facts, refusals.Refusals, s.Integration, now), SecretAt: s.SecretAt,
		Version: s.Number(), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if s.Schedule != nil {
		out.Schedule = &Schedule{Every: s.Schedule.Every, PausedAt: s.Schedule.PausedAt}
	}
	switch {
	case s.IsCertified(now):
		out.State = integration.Certified
		out.Certification = &Certification{
			PassedAt: s.Certification.PassedAt, ExpiresAt: s.Certification.ExpiresAt, Ports: s.Certification.Open(), ClosedPorts: s.Certification.Closed,
		}
		if reports.Passed != nil {
			report := reports.Passed.Below(company)
			out.Certification.Report = &report
		}
	case s.State == integration.Certified: // expired, but the ticker has not updated it yet
		out.Sandboxed = integration.SandboxedByExpiry
	}
	return out
}

// With returns the integration with what was selected. Failures of the last two days are a warning.
func (i Integration) With(days []selection.Counts, now time.Time) Integration {
	i.Selected = days
	for _, day := range days {
		late := day.Date >= selection.Today(now.AddDate(0, 0, -1))
		if late && day.Failed > 0 && (i.Health.Status == "pass" || i.Health.Status == "unknown") {
			i.Health.Status = "warn"
		}
	}
	return i
}
