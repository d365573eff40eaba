// Package relay sends a company's events to an address of the developer's machine, which the service itself cannot reach. It
// needs the public API alone: it registers an endpoint that stays in the sandbox, reads what the service holds for it, and
// posts that to the address, signed as in production.
package relay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/base/wait"
	"orgops/shared/domain/event"
	"orgops/shared/webhook/standardwebhooks"
)

// Options says what to relay and where to.
type Options struct {
	Forward  string        // the local url
	Events   []string      // patterns of events; empty: the events of the contract
	Secret   string        // that signs; empty: a new one
	Interval time.Duration // between two questions for new events; it grows while none arrives
	Out      io.Writer

	Now  func() time.Time                          // nil: time.Now
	Wait func(context.Context, time.Duration) bool // nil: wait.For
}

// nowhere is the endpoint's url. The service sends nothing to an endpoint that is not certified, and the name can never
// exist (RFC 2606).
const nowhere = "https://relay.invalid/"

// namePrefix begins the names of the endpoints. The rest is random, so that several developers can listen at once.
const namePrefix = "webhook-listen-"

// session relays from one endpoint.
type session struct {
	Options
	api      *apiclient.Client
	provider string
	signer   *standardwebhooks.Signer
	http     *http.Client
	position position
}

// Run relays until ctx ends, and then removes the endpoint. It returns an error if the service refuses a request. It waits
// out any other failure.
func Run(ctx context.Context, api *apiclient.Client, o Options) (err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait.For
	}
	others, err := sessions(ctx, api)
	if err != nil {
		return err
	}
	s, err := open(ctx, api, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	fmt.Fprintf(o.Out, "relaying %s to %s; Ctrl-C stops it\n", strings.Join(s.Events, ", "), s.Forward)
	if o.Secret == "" {
		fmt.Fprintf(o.Out, "signing secret of this session: %s\n", s.Secret)
	}
	for _, name := range others {
		fmt.Fprintf(o.Out, "another endpoint of orgops listen: %s; if its session has ended, remove it with DELETE …/integrations/%[1]s\n", name)
	}
	return s.follow(ctx)
}

// sessions lists the endpoints of other sessions, which may have been killed.
func sessions(ctx context.Context, api *apiclient.Client) ([]string, error) {
	var all struct {
		Items []struct {
			Provider string `json:"provider"`
		} `json:"items"`
	}
	if err := api.Do(ctx, http.MethodGet, "/integrations", nil, &all); err != nil {
		return nil, err
	}
	names := []string{}
	for _, i := range all.Items {
		if strings.HasPrefix(i.Provider, namePrefix) {
			names = append(names, i.Provider)
		}
	}
	return names, nil
}

// open registers the endpoint. It gets the permission to receive events only, so that the secret opens nothing else.
func open(ctx context.Context, api *apiclient.Client, o Options) (*session, error) {
	s := &session{Options: o, api: api, http: &http.Client{
		Timeout:       answerWithin,
		Transport:     &http.Transport{DisableCompression: true}, // as in production, where no Accept-Encoding is sent
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if len(s.Events) == 0 {
		s.Events = event.Contract()
	}
	var err error
	if s.Secret == "" {
		if s.Secret, err = standardwebhooks.GenerateSecret(rand.Reader); err != nil {
			return nil, err
		}
	}
	if s.signer, err = standardwebhooks.NewSigner([]string{s.Secret}); err != nil {
		return nil, fmt.Errorf("--secret: %w", err)
	}
	var suffix [4]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return nil, err
	}
	s.provider = namePrefix + hex.EncodeToString(suffix[:])
	var configured struct {
		CreatedAt time.Time `json:"createdAt"`
	}
	err = api.Create(ctx, "/integrations/"+s.provider, map[string]any{
		"url": nowhere, "events": s.Events, "signingSecret": s.Secret, "permissions": []string{"event.deliver"},
		"description": "A session of orgops listen. It removes this endpoint when it ends.",
	}, &configured)
	s.position = startAt(configured.CreatedAt, s.Now())
	return s, err
}

// closing bounds the removal of the endpoint after the session.
const closing = 10 * time.Second

// close removes the endpoint. The context of the session has usually ended.
func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	err := s.api.Do(ctx, http.MethodDelete, "/integrations/"+s.provider, nil, nil)
	if err == nil || apiclient.StatusOf(err) == http.StatusNotFound {
		return nil
	}
	return fmt.Errorf("the endpoint %s is left; remove it with DELETE …/integrations/%[1]s: %w", s.provider, err)
}
