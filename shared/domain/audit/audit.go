// Package audit describes the records of who did what in a company. A record is written once and never changed.
package audit

import (
	"strconv"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a record's item and the prefix of its key.
const (
	Entity = "audit"
	Prefix = "AUDIT#"
)

// Kept is how long a record is stored.
const Kept = 400 * 24 * time.Hour

// Record says who asked for what, and what came of it.
type Record struct {
	ID        string    `json:"id" format:"uuid" doc:"UUIDv7; records sort by their time"`
	At        time.Time `json:"at" doc:"when the effect was committed, or the request ended"`
	Actor     Actor     `json:"actor" doc:"who asked"`
	Operation string    `json:"operation" doc:"the id of the operation in the OpenAPI document, or the name of a command of the service's operator" example:"invite-user"`
	Resource  string    `json:"resource" doc:"what the operation was on, as a path below the company's" example:"operations/users/0198c5f2-0000-7000-8000-000000000001"`
	Outcome   string    `json:"outcome" enum:"success,failure,denied" doc:"denied: the rights or the credentials did not allow it; failure: it was refused for another reason, or failed"`
	Status    int       `json:"status,omitempty" doc:"the HTTP status of a request that did not succeed" format:"int32"`
	RequestID string    `json:"requestId" format:"uuid" doc:"the request's id in X-Request-Id and in the logs, or the command's id"`
	Network   string    `json:"network,omitempty" doc:"the network that the request came from: an IPv4 /24 or an IPv6 /48" example:"203.0.113.0/24"`
	Omitted   int       `json:"omitted,omitempty" doc:"how many more requests of the user did not succeed and have no record, because a user gets ten such records a minute" format:"int32"`
}

// Actor identifies who made a request. A client or an executive that acts by itself has no user.
type Actor struct {
	UserID string `json:"userId,omitempty" format:"uuid" doc:"the user, or the user for whom an executive acted; absent for the operator of the service, and for a client or an executive that acted by itself"`
	// ClientID names the client whose token was used, and ExecutiveID the executive that acted with it.
	ClientID    string `json:"clientId,omitempty" format:"uuid" doc:"the client whose token was used; absent for a user's own token"`
	ExecutiveID string `json:"executiveId,omitempty" format:"uuid" doc:"the executive that acted, by itself or for the user"`

	Role string `json:"role,omitempty" doc:"the user's role at the time" example:"founder"`
	// Operator names who ran a command of the service's operator.
	Operator string `json:"operator,omitempty" doc:"who ran a command of the service's operator: the name at the operator's machine, or the function provisioner" example:"root"`
	TokenID  string `json:"tokenId,omitempty" doc:"the id (jti) of the access token; after a login, of the one that it answered"`
}

// Key returns the sort key of a record.
func Key(recordID string) string { return Prefix + recordID }

// Write returns the write of a record. number tells the attempts to write a record of one request from each other.
func Write(c store.Company, r Record, number int) store.Op {
	r.ID = id.Precise(r.At, r.RequestID, strconv.Itoa(number))
	r.At = r.At.UTC().Truncate(time.Millisecond)
	return c.Create(Key(r.ID), Entity, r).Until(r.At.Add(Kept))
}
