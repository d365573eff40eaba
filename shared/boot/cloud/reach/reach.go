// Package reach finds out, before a process begins to work, whether what it needs in AWS is there and answers. A function
// does without: its first use shows it, and asking would lengthen every cold start.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/smithy-go"

	"orgops/shared/awsclient"
)

// Timeout bounds All.
const Timeout = 10 * time.Second

// A Check asks one service for one thing.
type Check struct {
	Service string // as its endpoint's variable names it, such as DYNAMODB
	Thing   string // such as a table's name
	Ask     func(context.Context) error
}

// All makes the checks at once, within Timeout. The error is one line, which names the service, the endpoint and the
// thing of each that failed, and why. Of what AWS answered it holds the code alone: its messages may quote a request.
func All(ctx context.Context, access awsclient.Access, checks ...Check) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	failures := make([]string, len(checks))
	var asked sync.WaitGroup
	for i, c := range checks {
		asked.Go(func() {
			if err := c.Ask(ctx); err != nil {
				failures[i] = fmt.Sprintf("%s at %s, %s: %s", c.Service, place(access, c.Service), c.Thing, reason(ctx, err))
			}
		})
	}
	asked.Wait()
	var all []string
	for _, f := range failures {
		if f != "" {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

// place is a service's endpoint.
func place(access awsclient.Access, service string) string {
	e := access.Endpoint(service)
	if e == nil {
		return "AWS in " + access.Region
	}
	u, err := url.Parse(*e)
	if err != nil {
		return "an address that is none"
	}
	return u.Scheme + "://" + u.Host // no user and no password
}

const maxReason = 200

func reason(ctx context.Context, err error) string {
	var api smithy.APIError
	var strange *smithy.DeserializationError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &strange), errors.As(err, &api) && (api.ErrorCode() == "" || api.ErrorCode() == "UnknownError"):
		return "an answer that is not the service's"
	case errors.As(err, &api):
		return api.ErrorCode()
	case errors.As(err, &dns):
		return "the name does not resolve"
	case errors.As(err, &op):
		return op.Err.Error()
	case ctx.Err() != nil:
		return fmt.Sprintf("no answer within %v", Timeout)
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), maxReason)]
}
