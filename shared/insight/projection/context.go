// Package projection folds the change feed into one item per company, the context. Mission Control and Intelligence
// compute their responses from it.
//
// Fold is pure and takes the time from the changes, so the same changes always give the same context. It applies a change
// exactly once: the context keeps the sequence number of the last change of each shard.
//
// A store orders the changes of one item. It may pass on the changes of different items, such as those of one transaction,
// in any order. So no fact depends on the order of the changes of different items, while the company has at most MaxGoals
// open goals, has had at most maxFormer providers more than it has or may have integrations, and 64 decided
// recommendations: counts are sums over items, and times are the latest ones. Each fact also
// follows from the stored records, or is the latest of several times: see Rebuild.
package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// Entity and Key name the entity and the sort key of the context's item.
const (
	Entity = "context"
	Key    = "CONTEXT"
)

// Bounds keep the item small for any company.
const (
	MaxGoals        = 50  // listed open goals
	MaxTimeline     = 10  // newest timeline entries
	maxFormer       = 7   // beyond the integrations that the company has, or may have, of one map by provider; Fold drops further providers if they have no integration
	maxEntryDetails = 512 // bytes of a listed timeline entry's details
	maxSubject      = 512 // bytes of a listed entry's subject
	maxText         = 256 // bytes of a title or an error
	maxCalled       = 40  // bytes of an integration's title
	maxSpells       = 16  // steps of 8 hours with failures that a provider keeps: more than the five days after which it is disabled
	maxFailures     = 10  // failed syncs that are counted
	maxStandings    = 64  // recommendations with a decision; Fold drops those that ended first
	maxExecutives   = 10  // executives that asked for too much; Fold drops those of longest ago
	maxWork         = 50  // goals whose work is counted
	maxWhy          = 72  // bytes of the reason why deliveries took no effect, or why a goal has its status
	maxError        = 128 // bytes of the error of a failed sync
	maxOutcomes     = 10  // live runs whose outcomes are kept
	maxSuccesses    = 3   // successful syncs whose times are kept
)

// Context holds the facts about a company. Fold takes them from the change feed.
type Context struct {
	CompanyID       string                             `json:"companyId" doc:"the company" format:"uuid"`
	ContextVersion  int64                              `json:"contextVersion" doc:"number of changes of which the context shows something; it only grows" example:"1284"`
	Applied         store.Sequence                     `json:"applied,omitempty" hidden:"true" doc:"position of the last applied change in the change feed" example:"00000000000000001284"`
	Shards          map[string]Position                `json:"shards,omitempty" hidden:"true" doc:"positions in the shards of a change feed with several, by a short name of the shard; of the last 25 hours"`
	Gathers         bool                               `json:"gathers,omitempty" hidden:"true" doc:"the company has sub-partitions: changes that came by several shards are gathered for a second before they are folded"`
	Rebuilt         time.Time                          `json:"rebuilt,omitzero" hidden:"true" doc:"when the last rebuild from a change feed with several shards read the records: what was stored before counts already"`
	UpdatedAt       time.Time                          `json:"updatedAt,omitzero" doc:"commit time of the last change of which the context shows something"`
	Company         Company                            `json:"company" doc:"the company's own data"`
	Integrations    map[string]Integration             `json:"integrations" doc:"configured connectors by provider"`
	Incarnations    map[string]string                  `json:"incarnations,omitempty" doc:"by provider, the id of its integration that was created last, also if it was deleted since; the facts about the provider are those of this integration"`
	Memory          Memory                             `json:"memory" doc:"how many memories there are, and how fresh they are"`
	Goals           Goals                              `json:"goals" doc:"goals by state and alignment"`
	Syncs           map[string]Sync                    `json:"syncs" doc:"newest sync run by provider"`
	Results         map[string]Result                  `json:"results" doc:"outcomes of deliveries and live syncs by provider"`
	Deliveries      Deliveries                         `json:"deliveries" doc:"webhook delivery attempts, and deliveries that wait"`
	Governance      Governance                         `json:"governance" doc:"the company's policies, and the approvals that they ask for"`
	Executives      map[string]Excess                  `json:"executives" doc:"executives that asked for more than their quota of a day, by id"`
	Timeline        []timeline.Entry                   `json:"timeline" doc:"the newest ten entries, newest first"`
	Recommendations map[string]recommendation.Standing `json:"recommendations" doc:"what was decided about recommendations, by id"`
	Sizes           map[string][]SizeStep              `json:"sizes,omitempty" hidden:"true" doc:"by kind, the records that grow with use and expire, in steps of a sixth of the time for which they are kept; the oldest step counts until all of it has expired"`
	Rebuilding      Rebuilding                         `json:"rebuilding,omitzero" hidden:"true" doc:"the rebuild that is under way"`
}

// Company holds the facts from the company's own item.
type Company struct {
	Name      string    `json:"name,omitempty" doc:"its name" example:"Acme"`
	Plan      string    `json:"plan,omitempty" doc:"its plan" example:"free"`
	CreatedAt time.Time `json:"createdAt,omitzero" doc:"when it was created"`
	Founders  int       `json:"founders" doc:"how many users have the role founder" format:"int32"`
	Awaited   []Awaited `json:"awaited,omitempty" doc:"operators who were invited and have not signed in; up to 10, of the last 7 days"`
}

// Awaited names an operator who was invited and has not signed in.
type Awaited struct {
	UserID string    `json:"userId" doc:"the user; its item expires with the invitation" format:"uuid"`
	At     time.Time `json:"at" doc:"when the operator was invited"`
}

// Excess says when an executive asked for more than its quota of a day.
type Excess struct {
	Name        string    `json:"name" doc:"its name" example:"Chief of Staff"`
	QuotaPerDay int       `json:"quotaPerDay" doc:"how many actions it may ask for in a day" format:"int32"`
	ExceededAt  time.Time `json:"exceededAt" doc:"when it first asked for more, on the last such day"`
}

// Integration holds the facts about one configured connector.
type Integration struct {
	Kind           string             `json:"kind" doc:"kind of connector" example:"webhook"`
	Title          string             `json:"title,omitempty" doc:"what people call it, cut at 40 bytes; absent: nothing but its name"`
	State          integration.State  `json:"state" doc:"whether it is in the sandbox or certified" enum:"sandbox,certified"`
	Enabled        bool               `json:"enabled" doc:"false: nothing goes in or out"`
	DisabledReason string             `json:"disabledReason,omitempty" doc:"why it is disabled" enum:"manual,gone,failing,imported"`
	DisabledAt     time.Time          `json:"disabledAt,omitzero" doc:"when it was disabled"`
	Ports          []integration.Port `json:"ports" doc:"ports that it may use once certified"`
	CertifiedPorts []integration.Port `json:"certifiedPorts,omitempty" doc:"ports that its certification has proven, or had proven before it returned to the sandbox"`
	ClosedPorts    []integration.Port `json:"closedPorts,omitempty" doc:"proven ports that were closed again, after failing for five days"`
	CertifiedAt    time.Time          `json:"certifiedAt,omitzero" doc:"when its certification passed"`
	CertifiedUntil time.Time          `json:"certifiedUntil,omitzero" doc:"when its certification ends"`
	SandboxedAt    time.Time          `json:"sandboxedAt,omitzero" doc:"when it entered the sandbox"`
	SandboxedCause string             `json:"sandboxedCause,omitempty" doc:"why it returned to the sandbox" enum:"configuration,expired,failing"`
	SyncSeconds    int64              `json:"syncSeconds,omitempty" doc:"how often its schedule syncs it; absent without a schedule" example:"3600"`
	SyncPausedAt   time.Time          `json:"syncPausedAt,omitzero" doc:"when its schedule was paused, after five failures in a row"`
	SecretAt       time.Time          `json:"secretAt,omitzero" doc:"when its newest signing secret was made"`
	CredentialsAt  time.Time          `json:"credentialsAt,omitzero" doc:"when its credentials were last stored"`
	CredentialsEnd time.Time          `json:"credentialsEnd,omitzero" doc:"when its credentials expire, if that is known"`
	Connected      bool               `json:"connected,omitempty" doc:"a user has given access at the provider; otherwise the credentials, if any, were stored by hand"`
	CreatedAt      time.Time          `json:"createdAt,omitzero" doc:"when it was created"`
	ChangedAt      time.Time          `json:"changedAt,omitzero" doc:"when it was last created, enabled, reconfigured or certified"`
	LastSuccessAt  time.Time          `json:"lastSuccessAt,omitzero" doc:"last delivery or sync that worked"`
	LastFailureAt  time.Time          `json:"lastFailureAt,omitzero" doc:"last delivery attempt or sync that failed"`
	FailingSince   time.Time          `json:"failingSince,omitzero" doc:"first failure since the last success, and since it was enabled, reconfigured or certified; if the failures began soon after that, the time of the success or change"`
}

// Has reports whether the integration may use one of the ports once certified.
func (i Integration) Has(ports ...integration.Port) bool { return overlap(i.Ports, ports) }

// Allows reports whether, as of now, the integration is enabled and certified for one of the ports, which is not closed.
func (i Integration) Allows(now time.Time, ports ...integration.Port) bool {
	open := func(p integration.Port) bool {
		return slices.Contains(i.CertifiedPorts, p) && !slices.Contains(i.ClosedPorts, p)
	}
	return i.Enabled && i.IsCertified(now) && slices.ContainsFunc(ports, open)
}

// Proved reports whether the integration's certification has proven one of the ports, or had before it ended.
func (i Integration) Proved(ports ...integration.Port) bool {
	return (i.State == integration.Certified || i.SandboxedCause != "") && overlap(i.CertifiedPorts, ports)
}

// IsCertified reports whether the integration is out of the sandbox as of now.
func (i Integration) IsCertified(now time.Time) bool {
	return i.State == integration.Certified && now.Before(i.CertifiedUntil)
}

func overlap(a, b []integration.Port) bool {
	for _, p := range a {
		for _, q := range b {
			if p == q {
				return true
			}
		}
	}
	return false
}

// Memory counts memories.
type Memory struct {
	Total         int64                     `json:"total" doc:"how many memories there are"`
	Bytes         int64                     `json:"bytes,omitempty" doc:"bytes of the memories, as they are stored"`
	Since         time.Time                 `json:"since,omitzero" doc:"when the first memory was stored, which may be removed since"`
	LastChangedAt time.Time                 `json:"lastChangedAt,omitzero" doc:"when a memory was last added, changed or removed"`
	Providers     map[string]ProviderMemory `json:"providers" doc:"memories by provider; the entry former adds up the providers that were dropped because they have no integration"`
}

// ProviderMemory counts the memories of one provider.
type ProviderMemory struct {
	Count         int64     `json:"count" doc:"how many memories there are"`
	LastChangedAt time.Time `json:"lastChangedAt,omitzero" doc:"when a memory was last added, changed or removed"`
	LastSyncedAt  time.Time `json:"lastSyncedAt,omitzero" doc:"when the last live sync succeeded"`
}

// Goals counts the goals of the company itself and of integrations that exist, and keeps those of the last integration of a provider that has none apart.
type Goals struct {
	GoalCounts
	Total     int                   `json:"total" doc:"goals that are kept, those of deleted integrations included" format:"int32"`
	Listed    []Goal                `json:"listed" doc:"up to 50 open goals: those not aligned first, then the soonest due"`
	Former    []Goal                `json:"former,omitempty" doc:"open goals of deleted integrations, in the same order, until the provider has a new integration; with those listed up to 50"`
	Providers map[string]GoalCounts `json:"providers,omitempty" doc:"goals by provider, of its integration that was created last, also if it was deleted since"`
	Explained map[string]time.Time  `json:"explained,omitempty" doc:"ends of explanations, by the goal's id; up to 50"`
	Work      map[string]goal.Work  `json:"work,omitempty" doc:"memories that refer to a goal, by the goal's id; up to 50 goals, those listed first"`
}

// GoalCounts counts goals. The alignment counts include open goals only.
type GoalCounts struct {
	Open       int `json:"open" doc:"open goals" format:"int32"`
	Closed     int `json:"closed" doc:"closed goals" format:"int32"`
	Aligned    int `json:"aligned" doc:"open goals whose pace is enough" format:"int32"`
	Drifting   int `json:"drifting" doc:"open goals that fall behind" format:"int32"`
	Misaligned int `json:"misaligned" doc:"open goals that are far behind or overdue" format:"int32"`
}

// Goal describes one listed goal.
type Goal struct {
	ID       string      `json:"id" doc:"UUIDv8" format:"uuid"`
	Provider string      `json:"provider,omitempty" doc:"the integration that imported it" example:"github"`
	Title    string      `json:"title" doc:"its title"`
	Status   goal.Status `json:"status" doc:"whether its pace is enough" enum:"aligned,drifting,misaligned"`
	Since    time.Time   `json:"since" doc:"when it got this status"`
	Progress float64     `json:"progress" doc:"share done" minimum:"0" maximum:"1"`
	DueAt    time.Time   `json:"dueAt,omitzero" doc:"when it is due"`
	Reason   string      `json:"reason,omitempty" doc:"why it has this status"`
}

// Sync describes the newest run of a provider. Failures count live runs only, because a sandbox run commits nothing.
type Sync struct {
	Run             string        `json:"run" doc:"the newest run's id" format:"uuid"`
	Mode            syncrun.Mode  `json:"mode" doc:"live: the run stores the fetched items; sandbox: it stores nothing" enum:"sandbox,live"`
	State           syncrun.State `json:"state" doc:"state of the run" enum:"requested,running,awaiting-confirmation,succeeded,failed,cancelled"`
	RunningSince    time.Time     `json:"runningSince,omitzero" doc:"start of the newest run, while it is running or waits for a confirmation"`
	FinishedAt      time.Time     `json:"finishedAt,omitzero" doc:"when the newest ended run ended"`
	LastSucceededAt time.Time     `json:"lastSucceededAt,omitzero" doc:"when the last successful live run ended"`
	Successes       []time.Time   `json:"successes,omitempty" doc:"ends of the newest 3 successful live runs"`
	Failures        []time.Time   `json:"failures,omitempty" doc:"ends of the failed live runs since the last successful one; the newest 10"`
	Outcomes        []int64       `json:"outcomes,omitempty" doc:"ends of the newest 10 live runs that succeeded or failed, in Unix seconds; negative for a failure" format:"int64"`
	FailuresInRow   int           `json:"failuresInRow" doc:"number of those failures" format:"int32"`
	FailingSince    time.Time     `json:"failingSince,omitzero" doc:"time of the first of those failures"`
	Error           string        `json:"error,omitempty" doc:"why the last failed run failed"`
}

// Deliveries counts webhook delivery attempts and the deliveries that wait.
type Deliveries struct {
	Recent    Window              `json:"recent" doc:"attempts in steps of 5 minutes, 6 hours back"`
	Hourly    Window              `json:"hourly" doc:"attempts in steps of an hour, 3 days back"`
	Daily     Window              `json:"daily" doc:"attempts in steps of a day, 30 days back"`
	Pending   Tally               `json:"pending" doc:"deliveries that wait for an attempt, by their event's time: in steps of 5 minutes for the last three hours, of an hour for the last day, of a day before"`
	Endpoints map[string]Endpoint `json:"endpoints" doc:"deliveries by endpoint; an endpoint has the name of its provider"`
}

// Endpoint counts the delivery attempts to one endpoint and the deliveries that wait.
type Endpoint struct {
	Hourly  Window `json:"hourly" doc:"attempts in steps of an hour, 24 hours back"`
	Pending int    `json:"pending" doc:"deliveries that wait for an attempt" format:"int32"`
	Held    Tally  `json:"held" doc:"deliveries held because their endpoint was not allowed to receive events, by the day of their event, and in steps of 4 days before the last week"`
	Dead    Tally  `json:"dead" doc:"dead letters, by the day of their event, and in steps of 4 days before the last week"`
	Former  Tally  `json:"former,omitempty" doc:"dead letters of endpoints of this name that were deleted, in the same steps; they are kept for reading only"`
}

// Empty returns the context of a company before its first change.
func Empty(companyID string) Context {
	return Context{
		CompanyID:    companyID,
		Integrations: map[string]Integration{},
		Incarnations: map[string]string{},
		Memory:       Memory{Providers: map[string]ProviderMemory{}},
		Goals:        Goals{Listed: []Goal{}},
		Syncs:        map[string]Sync{},
		Results:      map[string]Result{},
		Deliveries: Deliveries{
			Recent: newWindow(recentStep), Hourly: newWindow(time.Hour), Daily: newWindow(tallyDay), Pending: Tally{}, Endpoints: map[string]Endpoint{},
		},
		Governance:      Governance{Waiting: Tally{}, Unanswered: Tally{}},
		Executives:      map[string]Excess{},
		Timeline:        []timeline.Entry{},
		Recommendations: map[string]recommendation.Standing{},
	}
}

// Load reads a company's context and the item's version. For a company without a context it returns Empty and version 0.
func Load(ctx context.Context, c store.Company) (Context, int64, error) {
	item, err := c.Get(ctx, Key, nil)
	if errors.Is(err, store.ErrNotFound) {
		return Empty(c.ID()), 0, nil
	}
	if err != nil {
		return Context{}, 0, err
	}
	p, err := Decode(item)
	return p, item.Version, err
}

// ErrUnreadable reports a stored context that cannot be decoded.
var ErrUnreadable = errors.New("the stored context is not readable")

// Decode decodes a stored context. It returns ErrUnreadable.
func Decode(item store.Item) (Context, error) {
	var p Context
	if err := p.UnmarshalJSON(item.Body); err != nil {
		return Context{}, fmt.Errorf("decode %s: %w: %w", Key, ErrUnreadable, err)
	}
	return p, nil
}

// Save returns the write that replaces the context of the given version; version 0 stores the first one. The write stays
// out of the change feed, because nothing is derived from a context.
func Save(c store.Company, version int64, p Context) store.Op {
	raw, err := Encode(p)
	if err != nil {
		panic(fmt.Sprintf("projection: the context is not JSON: %v", err)) // as the store does with a body
	}
	return c.Save(Key, Entity, version, raw).Quietly()
}
