package awsclient

import (
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

const (
	// maxTries bounds the tries of a call whose context sets no earlier end: the pauses between them come to 3 s. While the
	// service throttles, each try also waits for its turn, with whoever else calls: what bounds that is the context alone.
	maxTries     = 10
	firstBackoff = 25 * time.Millisecond
	lastBackoff  = time.Second
)

// NewRetryer tries again what was throttled or did not arrive: in adaptive mode, which slows all of a client's callers down
// together when the service throttles, and with short, random pauses. decide, where it knows an error, overrules the
// defaults; nil knows none.
func NewRetryer(decide func(error) aws.Ternary) aws.Retryer {
	return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, func(o *retry.StandardOptions) {
			o.MaxAttempts = maxTries
			o.RateLimiter = ratelimit.None // the adaptive one does its work
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return backoff(attempt), nil })
			if decide != nil {
				o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(decide)}, o.Retryables...)
			}
		})
	})
}

// backoff is a random pause before the try after so many, between half and all of a time that doubles.
func backoff(tries int) time.Duration {
	d := min(firstBackoff<<min(max(tries-1, 0), 10), lastBackoff)
	return d/2 + rand.N(d/2)
}
