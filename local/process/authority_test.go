package process_test

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// settings reads the settings of a process with a file of authorities.
func settings(t *testing.T, file string) (config.Config, error) {
	t.Helper()
	data := t.TempDir()
	return config.Read(func(name string) string { return map[string]string{"ORGOPS_CA_FILE": file, "ORGOPS_DATA": data}[name] })
}

// TestOpen_Authority reaches a server whose certificate is of a private authority only with that authority's file.
func TestOpen_Authority(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	errtest.Must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	for name, want := range map[string]string{"": "the certificate is not accepted: its authority is unknown", file: ""} {
		c, err := settings(t, name)
		errtest.Must(t, err)
		p, err := process.Open(t.Context(), c, slog.New(slog.DiscardHandler))
		errtest.Must(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		errtest.Must(t, err)
		got := ""
		if resp, err := p.Services.Client.Do(req); err != nil {
			got = outbound.Explain(err)
		} else {
			resp.Body.Close()
		}
		if got, _, _ = strings.Cut(got, ";"); got != want {
			t.Errorf("with the file %q: %q, want %q", name, got, want)
		}
		errtest.Must(t, p.Close())
	}
}

// TestOpen_AuthorityRefused refuses to start with a file that holds no authority, and says what it needs.
func TestOpen_AuthorityRefused(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	errtest.Must(t, os.WriteFile(empty, []byte("not a certificate"), 0o600))
	for file, want := range map[string]string{empty: "has no certificate", "/nowhere/ca.pem": "there is no file", filepath.Dir(empty): "cannot be read"} {
		_, err := settings(t, file)
		got := errtest.Message(err)
		for _, part := range []string{"ORGOPS_CA_FILE", want} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q, want one with %q", file, got, part)
			}
		}
	}
}
