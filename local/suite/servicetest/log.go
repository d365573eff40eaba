package servicetest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// Log collects the service's log, and the secrets that it must not hold.
type Log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	secrets []string
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// KeepOut names a secret that the log must not hold.
func (l *Log) KeepOut(secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = append(l.secrets, secret)
}

// check fails the test if the log holds a secret. If the test has failed, it shows what the service logged.
func (l *Log) check(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, secret := range l.secrets {
		if strings.Contains(l.text.String(), secret) {
			t.Errorf("the log holds the secret %.12s…", secret)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(l.text.String()) {
			if !strings.Contains(line, `"level":"DEBUG"`) && !strings.Contains(line, `"msg":"request"`) {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}
