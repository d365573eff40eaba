package postgresql_test

import (
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/postgrestest"
)

// TestConnector_Fetch_tls connects by each mode, to a server with a certificate of its own authority.
func TestConnector_Fetch_tls(t *testing.T) {
	t.Parallel()
	server, other := postgrestest.Start(t), postgrestest.Certificate(t)
	reader := role(t, server, "encrypted", "")
	trusted := role(t, server, postgrestest.Trusted, "")
	const unknown = "the certificate is not accepted: its authority is unknown"
	tests := []struct{ name, mode, ca, host, user, want string }{
		{"known", "verify-full", server.CA, "127.0.0.1", reader, ""},
		{"known by name", "verify-full", server.CA, "localhost", reader, ""},
		{"the default", "", server.CA, "127.0.0.1", reader, ""},
		{"no authority", "verify-full", "", "127.0.0.1", reader, unknown},
		{"another authority", "verify-full", other, "127.0.0.1", reader, unknown},
		{"another name", "verify-full", server.CA, "127.0.0.2", reader, "the certificate is not accepted: it is for another host"},
		{"encrypted", "require", "", "127.0.0.1", reader, ""},
		{"encrypted under any name", "require", server.CA, "127.0.0.2", reader, ""},
		{"encrypted by another authority", "require", other, "127.0.0.1", reader, unknown},
		{"encrypted without a proof", "require", "", "127.0.0.1", trusted, "the server does not ask for SCRAM authentication"},
		{"plain", "disable", "", "127.0.0.1", reader, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := configure(server, tt.user, memories("s", "SELECT ssl AS id, 'x' AS title FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
			delete(config, "sslmode")
			config["host"] = tt.host
			for field, value := range map[string]string{"sslmode": tt.mode, "caCertificate": tt.ca} {
				if value != "" {
					config[field] = value
				}
			}
			page, err := first(t, config)
			if tt.want != "" {
				if got := errtest.Message(err); !strings.Contains(got, tt.want) {
					t.Errorf("error %q, want %q in it", got, tt.want)
				}
				return
			}
			errtest.Must(t, err)
			want := "s/true"
			if tt.mode == "disable" {
				want = "s/false"
			}
			if got := page.Memories[0].ExternalID; got != want {
				t.Errorf("encrypted: %s, want %s", got, want)
			}
		})
	}
}
