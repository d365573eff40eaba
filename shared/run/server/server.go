// Package server makes the HTTP server on which a program mounts route groups. The local process, the Lambdas and infra,
// which derives the gateway's routes, use the same server.
package server

import (
	"time"

	"orgops/shared/base/version"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/user"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Title names the API in its OpenAPI document.
const Title = "Organizational Operations Service"

// Options holds the settings that differ between processes.
type Options struct {
	Build     version.Build // of the program; the API has the version of its release
	Verifier  web.Verifier  // of bearer tokens; nil if no operation needs one
	CursorKey []byte        // seals page cursors; the same in every process of a deployment
	Origins   web.Origins   // of web pages that may read responses
	Bodies    web.Bodies    // shares the memory for bodies in flight; nil: they are not counted
	OnDemand  bool          // builds operations with the first request for them

	// Plan counts the requests of companies whose plan no gateway counts; nil: nothing does.
	Plan func(company, plan, agent string) (limit string, wait time.Duration)

	// Sessions tells which tokens have been ended. nil: the server's own.
	Sessions *user.Sessions
}

// New makes a server without operations.
func New(s *boot.Services, o Options) *web.Server {
	if o.Sessions == nil {
		o.Sessions = user.NewSessions(s.Now)
	}
	return web.New(web.Options{
		Title: Title, Build: o.Build, Logger: s.Logger, Verifier: o.Verifier, Tenant: s.Company, Ended: o.Sessions.Check, Audit: record, CursorKey: o.CursorKey,
		Now: s.Now, Origins: o.Origins, Bases: s.Bases(), Vault: s.Vault, Bodies: o.Bodies, OnDemand: o.OnDemand, Plan: o.Plan,
	})
}

// record returns the write of an audit record.
func record(c store.Company, a web.Audit, number int) store.Op {
	return audit.Write(c, audit.Record{
		At: a.At, Operation: a.Operation, Actor: audit.Actor{
			UserID: a.Caller.Person(), Role: a.Caller.Role, TokenID: a.Caller.TokenID, ClientID: a.Caller.Client, ExecutiveID: a.Caller.Executive,
		},
		Resource: a.Resource, Outcome: a.Outcome, Status: a.Status, RequestID: a.RequestID, Network: a.Network, Omitted: a.Omitted,
	}, number)
}
