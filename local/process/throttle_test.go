package process_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"orgops/shared/testkit/awstest"
)

// TestOpenAWS_Throttled throttles the store: a request is answered in time with 503 and Retry-After and writes nothing but
// the audit record of its failure. The same request succeeds once the store answers again.
func TestOpenAWS_Throttled(t *testing.T) {
	t.Parallel()
	const most = 2 * time.Second
	e := prepared(t, "throttled")
	proxy := dynamo.Through(t)
	for _, pair := range awstest.Environment(t, proxy) {
		name, value, _ := strings.Cut(pair, "=")
		e[name] = value
	}
	p := openAWS(t, e)
	defer p.Close()
	c := found(t, e, p.Handler, "edsger@example.com")
	body := `{"url":"https://example.com/","events":["memory.*"],"signingSecret":"` + secret + `"}`
	before := items(t, e)
	requests := []struct{ operation, method, path, body string }{
		{"TransactWriteItems", "POST", "/companies/{companyId}/integrations/webhook", body},
		{"GetItem", "GET", "/companies/{companyId}/mission-control/health", ""},
		{"Query", "GET", "/companies/{companyId}/memory", ""},
	}
	for _, tt := range requests {
		proxy.Play(awstest.Step{
			Operation: tt.operation, Times: 1000, Status: 400,
			Body: `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","Message":"it is so"}`,
		})
		ctx, cancel := context.WithTimeout(t.Context(), most)
		r := httptest.NewRequestWithContext(ctx, tt.method, strings.ReplaceAll(tt.path, "{companyId}", c.company), strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.token)
		w, begun := httptest.NewRecorder(), time.Now()
		p.Handler.ServeHTTP(w, r)
		cancel()
		took := time.Since(begun)
		if w.Code != 503 {
			t.Errorf("%s %s: status = %d, want 503: %s", tt.method, tt.path, w.Code, w.Body)
		}
		if w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: the answer has no Retry-After", tt.method, tt.path)
		}
		if took > patience {
			t.Errorf("%s %s: answered after %v, want %v at most", tt.method, tt.path, took, patience)
		}
		proxy.Clear()
	}
	if after := items(t, e); after != before+1 {
		t.Errorf("%d items were written, want 1: the audit record of the refused configuration", after-before)
	}
	c.call(t, 201, "POST", requests[0].path, body, nil)
}

// items counts the main table's items.
func items(t *testing.T, e environment) int32 {
	t.Helper()
	access := dynamo.Access(t)
	client := dynamodb.New(dynamodb.Options{Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("DYNAMODB")})
	table := e["ORGOPS_TABLE"]
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	return out.Count
}
