package functions_test

import (
	"testing"

	"orgops/shared/identity/token"
)

// TestHeaders checks that the longest headers that an operation reads leave a kilobyte of the 10,240 bytes that API Gateway takes of all
// headers of a request. A provider's own headers are not bounded here.
func TestHeaders(t *testing.T) {
	t.Parallel()
	const most = 10_240 - 1024
	sent := map[string]int{ // what callers send in headers without a maxLength
		"Idempotency-Key": 257, // with its quotes, by its pattern
		"If-None-Match":   2048, "Accept-Encoding": 64, "X-Slack-Request-Timestamp": 20, "X-Slack-Signature": 67,
	}
	written := func(name string, longest int) int { return len(name) + len(": \r\n") + longest }
	server := serverOf(t)
	server.Document()
	heaviest := 0
	for _, op := range server.Operations() {
		size := written("Authorization", len("Bearer ")+token.MaxSize)
		for _, p := range op.Parameters {
			switch {
			case p.In != "header" || op.OperationID == "receive-webhook":
			case p.Schema.MaxLength != nil:
				size += written(p.Name, *p.Schema.MaxLength)
			case sent[p.Name] == 0:
				t.Errorf("%s of %s has no maxLength, and no known size", p.Name, op.OperationID)
			default:
				size += written(p.Name, sent[p.Name])
			}
		}
		if heaviest = max(heaviest, size); size > most {
			t.Errorf("the headers of %s have up to %d bytes, want at most %d", op.OperationID, size, most)
		}
	}
	if heaviest < token.MaxSize+2048 {
		t.Errorf("the longest headers have %d bytes, want an If-Match of 2048 next to the token", heaviest)
	}
}
