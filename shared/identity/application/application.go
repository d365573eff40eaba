// Package application reads the applications that the operator has registered with other services: by them a company gives access
// without a pasted token.
package application

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Application is one registration. It belongs to a kind of provider.
type Application struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`

	AppID      string `json:"appId,omitempty"`      // of a GitHub App
	Slug       string `json:"slug,omitempty"`       // of a GitHub App: its name in addresses
	PrivateKey string `json:"privateKey,omitempty"` // of a GitHub App, as PEM

	Server *Server `json:"server,omitempty"` // nil: the provider's own
}

// Server holds the addresses of a server of one's own, such as a self-managed GitLab.
type Server struct {
	API           string `json:"api"` // tokens go to its origin alone
	Issuer        string `json:"issuer,omitempty"`
	Authorization string `json:"authorization"` // of a GitHub App: where it is installed
	Token         string `json:"token"`
	Revocation    string `json:"revocation,omitempty"`
}

// Applications finds the application of a kind.
type Applications interface {
	// Find returns the application of a kind. ok is false if the operator has registered none.
	Find(ctx context.Context, kind string) (a Application, ok bool, err error)
}

// Static holds applications by kind. A nil Static has none.
type Static map[string]Application

// Find implements Applications.
func (s Static) Find(_ context.Context, kind string) (Application, bool, error) {
	a, ok := s[kind]
	return a, ok, nil
}

// Parse reads applications from a JSON object, whose members are named by kinds. No error quotes a value.
func Parse(text []byte) (Static, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var all Static
	if err := decoder.Decode(&all); err != nil {
		return nil, errors.New("the applications are not a JSON object of applications by kind; compare it with the example")
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if problem := all[kind].problem(); problem != "" {
			return nil, fmt.Errorf("the application %q %s", kind, problem)
		}
	}
	return all, nil
}

// problem says what an application lacks, or "".
func (a Application) problem() string {
	switch {
	case a.ClientID == "" || a.ClientSecret == "":
		return "lacks clientId or clientSecret"
	case (a.AppID == "") != (a.PrivateKey == ""):
		return "has one of appId and privateKey; a GitHub App needs both"
	case a.AppID != "" && a.Slug == "" && a.Server == nil:
		return "lacks slug, the name of the GitHub App in addresses"
	case a.Server != nil && (a.Server.API == "" || a.Server.Authorization == "" || a.Server.Token == ""):
		return "lacks api, authorization or token of its server"
	}
	return ""
}
