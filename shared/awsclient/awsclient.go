// Package awsclient is what every client of AWS in this program is made from: region, credentials, endpoints and an HTTP
// client. It reads the variables that AWS documents and nothing else: no files, no profiles, no instance metadata, whose
// loading costs a Lambda milliseconds of each cold start. A person signed in by a profile exports its credentials:
// eval "$(aws configure export-credentials --format env)".
package awsclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Access is where AWS is, and who calls it.
type Access struct {
	Region      string
	Credentials aws.CredentialsProvider
	HTTPClient  *awshttp.BuildableClient // without a timeout of its own: each driver sets the one that fits its calls
	getenv      func(name string) string
}

// Read makes an Access of the variables AWS_REGION (or AWS_DEFAULT_REGION), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>, through getenv (os.Getenv). The error names every
// variable that is wrong.
func Read(getenv func(string) string) (Access, error) {
	value := func(name string) string { return strings.TrimSpace(getenv(name)) }
	region := value("AWS_REGION")
	if region == "" {
		region = value("AWS_DEFAULT_REGION")
	}
	keys := aws.Credentials{
		AccessKeyID: value("AWS_ACCESS_KEY_ID"), SecretAccessKey: value("AWS_SECRET_ACCESS_KEY"),
		SessionToken: value("AWS_SESSION_TOKEN"), Source: "environment",
	}
	problems := []error{checkEndpoints(value)}
	if region == "" {
		problems = append(problems, errors.New("AWS_REGION must name the region, such as eu-central-1"))
	}
	if !keys.HasKeys() {
		problems = append(problems, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set"))
	}
	a := Access{
		Region: region, HTTPClient: httpClient(), getenv: value,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys, nil }),
	}
	return a, errors.Join(problems...)
}

// httpClient keeps a connection for each of many callers: the drivers' calls are short, and all go to a few hosts.
func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 100
		t.MaxIdleConns = 200
		t.TLSHandshakeTimeout = 3 * time.Second
	})
}

// Endpoint is the address that the environment gives for a service: the first of AWS_ENDPOINT_URL_<NAME> that is set, or
// else AWS_ENDPOINT_URL. Nil is AWS's own. Names are as AWS writes them there: DYNAMODB, DYNAMODB_STREAMS, SQS, KMS.
func (a Access) Endpoint(names ...string) *string {
	for _, name := range names {
		if e := a.getenv(endpointVariable + "_" + name); e != "" {
			return &e
		}
	}
	if e := a.getenv(endpointVariable); e != "" {
		return &e
	}
	return nil
}

const endpointVariable = "AWS_ENDPOINT_URL"

// checkEndpoints refuses an address that is none, before a client answers every call with a riddle.
func checkEndpoints(value func(string) string) error {
	var problems []error
	for _, suffix := range []string{"", "_DYNAMODB", "_DYNAMODB_STREAMS", "_SQS", "_KMS", "_SECRETS_MANAGER", "_API_GATEWAY"} {
		e := value(endpointVariable + suffix)
		if e == "" {
			continue
		}
		if u, err := url.Parse(e); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			problems = append(problems, errors.New(endpointVariable+suffix+" must be a URL such as http://127.0.0.1:8000"))
		}
	}
	return errors.Join(problems...)
}
