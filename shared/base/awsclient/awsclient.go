// Package awsclient provides the base of every AWS client in this program: region, credentials, endpoints and an HTTP
// client. It reads only environment variables that AWS documents. It reads no files, profiles or instance metadata, because
// they cost milliseconds of each Lambda cold start. A user who signs in by a profile first exports the credentials of the
// profile, as "aws configure export-credentials" does.
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

// Access holds the region, the credentials and the endpoints of AWS.
type Access struct {
	Region      string
	Credentials aws.CredentialsProvider
	HTTPClient  *awshttp.BuildableClient // without a timeout; each driver sets its own
	getenv      func(name string) string
}

// Read returns an Access from the variables AWS_REGION (or AWS_DEFAULT_REGION), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>, through getenv (os.Getenv). Its error names every
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

// httpClient keeps idle connections for many concurrent callers, because all calls go to a few hosts.
func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 100
		t.MaxIdleConns = 200
		t.TLSHandshakeTimeout = 3 * time.Second
	})
}

// BaseEndpoint returns the address of a service from the environment: the first AWS_ENDPOINT_URL_<NAME> that is set, otherwise
// AWS_ENDPOINT_URL. Nil means AWS's endpoint. Names are written as in AWS's variables: DYNAMODB, DYNAMODB_STREAMS, SQS, KMS.
func (a Access) BaseEndpoint(names ...string) *string {
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

// checkEndpoints refuses invalid addresses. With such an address every call would fail with an obscure error.
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
