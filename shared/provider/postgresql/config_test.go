package postgresql_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/postgresql"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

func TestConnector_CheckConfig(t *testing.T) {
	t.Parallel()
	public := postgresql.New(outbound.New(outbound.Options{}), nil)
	base := func(field string, value any) object {
		config := object{"host": "db.example.com", "database": "d", "user": "u", "streams": []object{memories("s", "SELECT 1")}}
		config[field] = value
		return config
	}
	stream := func(more object) object { return base("streams", []object{memories("s", "SELECT 1", more)}) }
	const plain = "/sslmode a connection without TLS is only for addresses that the operator of the service allows; choose verify-full or require"
	const single = "/streams/0/query is one SELECT, so it has no ; outside of a text in quotes"
	tests := []struct {
		name   string
		config object
		want   []string
	}{
		{"the least", base("user", "u"), nil},
		{"a loopback address", base("host", "127.0.0.1"), []string{"/host the host's address is not public"}},
		{"a private address", base("host", "10.0.0.1"), []string{"/host the host's address is not public"}},
		{"the address of a cloud's metadata", base("host", "169.254.169.254"), []string{"/host the host's address is not public"}},
		{"a name of this machine", base("host", "localhost"), []string{"/host localhost is not public; use a public host"}},
		{"an address as a number", base("host", "2130706433"), []string{"/host an IPv4 address needs four decimal numbers, such as 203.0.113.7"}},
		{"a socket", base("host", "/run/postgresql"), []string{"/host expected string to be the name of a host, such as db.example.com"}},
		{"several hosts", base("host", "a.example.com,b.example.com"), []string{"/host expected string to be the name of a host, such as db.example.com"}},
		{"no TLS", base("sslmode", "disable"), []string{plain}},
		{"no certificate", base("caCertificate", "x"), []string{"/caCertificate has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----"}},
		{"an authority", base("caCertificate", authority(t, 8192)), nil},
		{"an authority with a very long key", base("caCertificate", authority(t, 2048)+authority(t, 16384)), []string{"/caCertificate has a certificate with an RSA key of more than 8192 bits"}},
		{"two statements", stream(object{"query": "SELECT 1; DROP TABLE x"}), []string{single}},
		{"an end", stream(object{"query": "SELECT 1;"}), []string{single}},
		{"a semicolon in a text", stream(object{"query": `SELECT ';''' AS "a;", 1 -- ; the end` + "\n/* ; */"}), nil},
		{"a goal's columns", stream(object{"progressColumn": "p", "unit": "EUR"}), []string{"/streams/0/progressColumn belongs to the target goal", "/streams/0/unit belongs to the target goal", "/streams/0/unit belongs to currentColumn"}},
		{"half a measure", stream(object{"target": "goal", "currentColumn": "c", "progressColumn": "p"}), []string{
			"/streams/0/targetColumn is needed with currentColumn", "/streams/0/unit is needed with currentColumn", "/streams/0/progressColumn follows from currentColumn and targetColumn",
		}},
		{"a name twice", base("streams", []object{memories("s", "SELECT 1"), memories("s", "SELECT 2")}), []string{"/streams/1/name names another stream too"}},
	}
	for _, tt := range tests {
		raw, err := json.Marshal(tt.config)
		errtest.Must(t, err)
		problems, err := web.CheckBody(public.Schema(), raw)
		errtest.Must(t, err)
		if len(problems) == 0 {
			problems = public.CheckConfig(raw)
		}
		var got []string
		for _, p := range problems {
			got = append(got, p.Pointer+" "+p.Detail)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestConnector_Ports asks for what the streams bring, and sends the password to one host and port.
func TestConnector_Ports(t *testing.T) {
	t.Parallel()
	c := postgresql.New(local(), nil)
	raw := []byte(`{"host":"DB.example.com","streams":[{"target":"goal"},{"target":"memory"},{"target":"goal"}]}`)
	want := []integration.Port{integration.SyncPull, integration.GoalUpdate, integration.MemoryUpsert}
	if diff := cmp.Diff(want, c.Ports(raw)); diff != "" {
		t.Errorf("ports differ (-want +got):\n%s", diff)
	}
	if got, want := connector.Origin(c, raw), "postgresql://db.example.com:5432"; got != want {
		t.Errorf("origin %s, want %s", got, want)
	}
	if got := fmt.Sprint(connector.Missing(c, raw, nil)); got != "[password]" {
		t.Errorf("missing credentials %s, want the password", got)
	}
	if _, err := c.Fetch(t.Context(), connector.Fetch{Config: raw}); err == nil {
		t.Error("no error of a program that reads no databases, want one")
	}
}

// authority returns a certificate with an RSA key of a number of bits, in PEM.
func authority(t *testing.T, bits int) string {
	t.Helper()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ssotest.LongCertificate(t, bits).Raw}))
}
