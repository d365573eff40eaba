package awsclient

import (
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

const (
	// maxTries limits the tries of a call; the context may end the call earlier. The pauses between the tries total about
	// 3 s. While the service throttles, each try also waits for its turn among all callers of the client. Only the context
	// limits that wait.
	maxTries     = 10
	firstBackoff = 25 * time.Millisecond
	lastBackoff  = time.Second
)

// NewRetryer returns a retryer for throttled and lost calls. Its adaptive mode slows all callers of a client down together
// while the service throttles. Its pauses are short and random. decide may overrule the defaults for some errors. A nil
// decide overrules no default.
func NewRetryer(decide func(error) aws.Ternary) aws.Retryer {
	return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, func(o *retry.StandardOptions) {
			o.MaxAttempts = maxTries
			o.RateLimiter = ratelimit.None // the adaptive mode limits the rate
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return backoff(attempt), nil })
			if decide != nil {
				o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(decide)}, o.Retryables...)
			}
		})
	})
}

// backoff returns a random pause after the given number of tries. The longest pause doubles with each try, up to
// lastBackoff. The shortest pause is half of the longest.
func backoff(tries int) time.Duration {
	d := min(firstBackoff<<min(max(tries-1, 0), 10), lastBackoff)
	return d/2 + rand.N(d/2)
}
