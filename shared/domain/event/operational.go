package event

import (
	"encoding/json"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// DeadLetter holds the data of delivery.dead. It has neither the payload nor what the endpoint answered, because it goes to other
// endpoints.
type DeadLetter struct {
	DeliveryID string    `json:"deliveryId" doc:"the id of the event that did not arrive; with the provider it names the delivery" format:"uuid"`
	Provider   string    `json:"provider" doc:"the endpoint" example:"webhook-billing"`
	Event      string    `json:"event" doc:"the name of the event that did not arrive" example:"memory.updated"`
	EventAt    time.Time `json:"eventAt" doc:"when that event happened"`
	Attempts   int       `json:"attempts" doc:"how many attempts have failed since the schedule began" format:"int32"`
	LastAt     time.Time `json:"lastAttemptAt" doc:"when the last attempt was made"`
	LastStatus int       `json:"lastStatus,omitempty" doc:"the HTTP status of the last attempt; absent without an answer" format:"int32"`
	LastError  string    `json:"lastError,omitempty" doc:"why the last attempt failed"`
}

// EndpointStanding holds the data of the events about an endpoint.
type EndpointStanding struct {
	Provider string    `json:"provider" doc:"the endpoint" example:"webhook-billing"`
	State    string    `json:"state" enum:"paused,disabled,active" doc:"paused: it gets no attempts for a while, and then one decides; disabled: it gets no events; active: it gets events again"`
	Reason   string    `json:"reason" enum:"manual,gone,failing,imported" doc:"why it was paused or disabled; of an active one, why it was before"`
	Since    time.Time `json:"since" doc:"since when it is so, or was before"`
	Until    time.Time `json:"until,omitzero" doc:"of a paused one, when the next attempt may be made"`
	Before   string    `json:"before,omitempty" enum:"paused,disabled" doc:"of an active one, what it was before"`
}

// IntegrationStanding holds the data of the events about an integration's certification.
type IntegrationStanding struct {
	Provider  string             `json:"provider" doc:"the integration" example:"github"`
	Kind      string             `json:"kind" doc:"its connector" example:"github"`
	State     integration.State  `json:"state" enum:"sandbox,certified" doc:"certified: it acts in production; sandbox: what goes in or out has no effect, and its events are held"`
	Cause     string             `json:"cause,omitempty" enum:"configuration,expired,failing" doc:"why it is back in the sandbox"`
	Ports     []integration.Port `json:"ports,omitempty" doc:"the ports that the certification has opened"`
	Expiring  string             `json:"expiring,omitempty" enum:"certification,credentials" doc:"what is about to expire"`
	ExpiresAt *time.Time         `json:"expiresAt,omitempty" doc:"when the certification ends, or the credentials that are about to expire"`
}

// AboutSending reports whether an event of this name tells of deliveries or endpoints. No event tells of the deliveries of such an
// event: two endpoints that fail would otherwise cause events for each other without an end.
func AboutSending(name string) bool {
	return Category(name) == "delivery" || Category(name) == "endpoint"
}

func ofApproval(c store.Change) ([]Event, error) {
	if c.Old == nil {
		return []Event{of(c, ApprovalRequested, c.New.Body)}, nil
	}
	was, is, err := both[struct {
		State    approval.State `json:"state"`
		WarnedAt *time.Time     `json:"warnedAt"`
	}](c)
	switch {
	case err != nil || was.State != approval.Pending:
		return nil, err
	case is.State != approval.Pending:
		return updated(c, ApprovalDecided)
	case was.WarnedAt == nil && is.WarnedAt != nil:
		return updated(c, ApprovalExpiring)
	}
	return nil, nil
}

func ofDelivery(c store.Change) (all []Event, err error) {
	t := delivery.TransitionOf(c)
	if !t.Tells() {
		return nil, nil
	}
	var d delivery.Delivery
	if err := delivery.DecodeLog(c.New.Body, &d.Head, &d.Attempts); err != nil || AboutSending(d.Event) {
		return nil, err
	}
	if last, _ := d.Last(); t.BecameDead() {
		all, err = told(c, DeliveryDead, d.Endpoint, DeadLetter{
			DeliveryID: d.EventID, Provider: d.Endpoint, Event: d.Event, EventAt: d.CreatedAt, Attempts: d.Made,
			LastAt: last.At, LastStatus: last.Status, LastError: last.Error,
		})
	}
	if turned := t.Turned(); turned != nil && err == nil {
		var more []Event
		more, err = ofPause(c, d.Endpoint, *turned)
		all = append(all, more...)
	}
	return all, err
}

// ofPause returns the event of a pause that has begun or ended with an attempt.
func ofPause(c store.Change, provider string, turned delivery.Turn) ([]Event, error) {
	standing := EndpointStanding{Provider: provider, Reason: string(delivery.PausedFailing), Since: turned.Since, Until: turned.Until}
	if turned.Paused {
		standing.State = "paused"
		return told(c, EndpointPaused, provider, standing)
	}
	standing.State, standing.Before = "active", "paused"
	return told(c, EndpointRecovered, provider, standing)
}

// ofIntegration returns the events of an integration's certification and of an endpoint's state. An integration that cannot be
// read causes none.
func ofIntegration(c store.Change) ([]Event, error) {
	if c.Old == nil {
		return nil, nil
	}
	was, is, err := both[integration.Integration](c)
	if err != nil {
		return nil, nil //nolint:nilerr // the integration counts as damaged, and others go on
	}
	all, err := ofCertification(c, was, is)
	if err != nil || was.Enabled == is.Enabled || !is.Has(integration.EventDeliver) {
		return all, err
	}
	name, standing, ended := EndpointDisabled, EndpointStanding{Provider: is.Provider, State: "disabled"}, is.Disabled
	if is.Enabled {
		name, standing.State, standing.Before, ended = EndpointRecovered, "active", "disabled", was.Disabled
	}
	if ended != nil {
		standing.Reason, standing.Since = ended.Reason, ended.At
	}
	more, err := told(c, name, is.Provider, standing)
	return append(all, more...), err
}

func ofCertification(c store.Change, was, is integration.Integration) ([]Event, error) {
	standing := IntegrationStanding{Provider: is.Provider, Kind: is.Kind, State: is.State, Cause: is.SandboxedCause}
	switch {
	case is.State == integration.Sandbox && was.State == integration.Certified:
		return told(c, IntegrationSandboxed, is.Provider, standing)
	case is.Credentials != nil && is.Credentials.WarnedAt != nil && (was.Credentials == nil || was.Credentials.WarnedAt == nil):
		standing.Expiring, standing.ExpiresAt = "credentials", is.Credentials.ExpiresAt
		return told(c, IntegrationExpiring, "", standing)
	case is.State != integration.Certified || is.Certification == nil:
		return nil, nil
	}
	standing.Cause, standing.Ports, standing.ExpiresAt = "", is.Certification.Open(), &is.Certification.ExpiresAt
	switch {
	case was.Certification == nil || !was.Certification.PassedAt.Equal(is.Certification.PassedAt):
		return told(c, IntegrationCertified, "", standing)
	case was.Certification.WarnedAt == nil && is.Certification.WarnedAt != nil:
		standing.Expiring = "certification"
		return told(c, IntegrationExpiring, "", standing)
	}
	return nil, nil
}

func ofAction(c store.Change) ([]Event, error) {
	was, is, err := both[struct{ State executive.Progress }](c)
	if err != nil || is.State != executive.Done || was.State == executive.Done {
		return nil, err
	}
	return updated(c, ExecutiveActed)
}

// ofAdvice returns the event of a recommendation that has opened or closed.
func ofAdvice(c store.Change) ([]Event, error) {
	was, is, err := both[recommendation.Told](c)
	switch {
	case err != nil || c.Old != nil && was.State.Open() == is.State.Open():
		return nil, err
	case is.State.Open():
		return []Event{of(c, RecommendationOpened, c.New.Body)}, nil
	}
	return []Event{of(c, RecommendationClosed, c.New.Body)}, nil
}

// ofUser returns the event of a user who can sign in from now on, or cannot any more.
func ofUser(c store.Change) ([]Event, error) {
	was, is, err := both[user.User](c)
	if err != nil {
		return nil, err
	}
	before, after := c.Old != nil && was.Active(), c.New != nil && is.Active()
	switch {
	case before == after:
		return nil, nil
	case after:
		return updated(c, UserJoined)
	case c.New == nil:
		return []Event{of(c, UserLeft, c.Old.Body)}, nil
	}
	return updated(c, UserLeft)
}

// both decodes what an item was and what it is; an absent one is the zero value.
func both[T any](c store.Change) (was, is T, err error) {
	if c.Old != nil {
		err = fastjson.Unmarshal(c.Old.Body, &was)
	}
	if err == nil && c.New != nil {
		err = fastjson.Unmarshal(c.New.Body, &is)
	}
	return was, is, err
}

// updated returns the event about an item as a whole. After an update, its data has the former values too.
func updated(c store.Change, name string) ([]Event, error) {
	if c.Old == nil {
		return []Event{of(c, name, c.New.Body)}, nil
	}
	data, err := withPrevious(c.Old.Body, c.New.Body)
	return []Event{of(c, name, data)}, err
}

// told returns the event with data of its own. about is the endpoint that does not get it, or "".
func told(c store.Change, name, about string, data any) ([]Event, error) {
	body, err := json.Marshal(data)
	e := of(c, name, body)
	e.About = about
	return []Event{e}, err
}
