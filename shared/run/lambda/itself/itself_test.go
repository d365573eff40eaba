package itself_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"orgops/shared/base/awsclient"
	"orgops/shared/run/lambda/itself"
	"orgops/shared/testkit/errtest"
)

// TestFunction_Begin calls the function of the process without waiting for its answer.
func TestFunction_Begin(t *testing.T) {
	lambdacontext.FunctionName = "Orgops-ticker"
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + r.Header.Get("X-Amz-Invocation-Type") + " " + string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_LAMBDA": server.URL,
	}
	access, err := awsclient.Read(func(name string) string { return env[name] })
	errtest.Must(t, err)
	errtest.Must(t, itself.Open(access).Begin(t.Context(), map[string]int{"shard": 3}))
	if want := `POST /2015-03-31/functions/Orgops-ticker/invocations Event {"shard":3}`; got != want {
		t.Errorf("request %s, want %s", got, want)
	}
}
