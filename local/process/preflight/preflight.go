// Package preflight checks before a process starts whether the AWS resources that it needs exist and answer. A Lambda skips
// these checks: its first call shows the same problem, and the checks would lengthen every cold start.
package preflight

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

	"orgops/shared/base/awsclient"
)

// Timeout bounds All.
const Timeout = 10 * time.Second

// A Check asks one service for one thing.
type Check struct {
	Service string // as its endpoint variable names it, such as DYNAMODB
	Thing   string // the resource, such as a table's name
	Ask     func(context.Context) error
}

// All runs the checks concurrently, within Timeout. Its error is one line that names the service, the endpoint, the resource
// and the reason of each failure. For an answer of AWS the reason is only the error code, because the message may quote a
// request.
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

// place names a service's endpoint.
func place(access awsclient.Access, service string) string {
	e := access.BaseEndpoint(service)
	if e == nil {
		return "AWS in " + access.Region
	}
	u, err := url.Parse(*e)
	if err != nil {
		return "an invalid address"
	}
	return u.Scheme + "://" + u.Host // without user and password
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
