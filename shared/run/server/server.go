// Package server makes the HTTP server on which a program mounts route groups. The local process, the Lambdas and infra,
// which derives the gateway's routes, use the same server.
package server

import (
	"orgops/shared/run/boot"
	"orgops/shared/web"
)

// Title names the API in its OpenAPI document.
const Title = "Organizational Operations Service"

// Options holds the settings that differ between processes.
type Options struct {
	Version   string       // of the API
	Verifier  web.Verifier // of bearer tokens; nil if no operation needs one
	CursorKey []byte       // seals page cursors; the same in every process of a deployment
	Origins   web.Origins  // of web pages that may read responses
	OpenBytes int64        // of bodies without a token, all together; 0: no limit
	OnDemand  bool         // builds operations with the first request for them
}

// New makes a server without operations.
func New(s *boot.Services, o Options) *web.Server {
	return web.New(web.Options{
		Title: Title, Version: o.Version, Logger: s.Logger, Verifier: o.Verifier, Tenant: s.Company, CursorKey: o.CursorKey,
		Now: s.Now, Origins: o.Origins, Vault: s.Vault, OpenBytes: o.OpenBytes, OnDemand: o.OnDemand,
	})
}
