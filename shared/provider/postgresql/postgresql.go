// Package postgresql connects a PostgreSQL database: each row of a query becomes a memory or a goal. It only reads. Every query runs in
// a transaction that the server holds to reading, within limits of time.
package postgresql

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strconv"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/identity/keysize"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/webhook/outbound"
)

// Kind names the connector. ItemKind is the kind of its memories.
const (
	Kind     = "postgresql"
	ItemKind = "row"
)

// The modes of TLS, named as libpq does.
const (
	verifyFull = "verify-full"
	require    = "require"
	disable    = "disable"
)

// passwordField names the credential.
const passwordField = "password"

// Config holds a stored configuration.
type Config struct {
	Host          string   `json:"host"`
	Port          int      `json:"port"`
	Database      string   `json:"database"`
	User          string   `json:"user"`
	SSLMode       string   `json:"sslmode"`
	CACertificate string   `json:"caCertificate"` // PEM; "": the authorities that the service knows
	Streams       []Stream `json:"streams"`
}

// Stream holds a query, and says which columns of its rows are what.
type Stream struct {
	Name            string `json:"name"`
	Query           string `json:"query"`
	Target          string `json:"target"`
	IDColumn        string `json:"idColumn"`
	TitleColumn     string `json:"titleColumn"`
	BodyColumn      string `json:"bodyColumn"`
	LinkColumn      string `json:"linkColumn"`
	UpdatedAtColumn string `json:"updatedAtColumn"`
	ProgressColumn  string `json:"progressColumn"`
	DueAtColumn     string `json:"dueAtColumn"`
	CurrentColumn   string `json:"currentColumn"` // of a goal that a number measures
	TargetColumn    string `json:"targetColumn"`
	Unit            string `json:"unit"`
	Direction       string `json:"direction"`
}

// Connector implements connector.Authenticated, connector.Lister and connector.Checker.
type Connector struct {
	client *outbound.Client
	open   Open
}

// New makes the connector. It connects through client, by open. A program that reads no database passes nil, and so does not link the
// protocol.
func New(client *outbound.Client, open Open) *Connector {
	return &Connector{client: client, open: open}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*Connector) Schema() json.RawMessage { return json.RawMessage(schema) }

// CredentialSchema implements connector.Authenticated.
func (*Connector) CredentialSchema() json.RawMessage { return json.RawMessage(credentialSchema) }

// NeededCredentials implements connector.Authenticated.
func (*Connector) NeededCredentials(json.RawMessage) []string { return []string{passwordField} }

// Ports implements connector.Connector.
func (*Connector) Ports(config json.RawMessage) []integration.Port {
	ports := []integration.Port{integration.SyncPull}
	for _, s := range read(config).Streams {
		port := integration.MemoryUpsert
		if s.Target == manifest.ToGoal {
			port = integration.GoalUpdate
		}
		if !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// Address implements connector.Addressed.
func (*Connector) Address(config json.RawMessage) string {
	return Kind + "://" + read(config).address()
}

// address returns the host and the port.
func (c Config) address() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// Lists implements connector.Lister. Every run reads all rows, so what a removed stream has brought is removed too.
func (*Connector) Lists(json.RawMessage) connector.Listed {
	return connector.Listed{Kinds: []string{ItemKind}, Goals: true}
}

// Streams implements connector.Streamed.
func (*Connector) Streams(config json.RawMessage) (names []string) {
	for _, s := range read(config).Streams {
		names = append(names, s.Name)
	}
	return names
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) (problems []fault.FieldError) {
	config := read(raw)
	local, problems := c.client.CheckHost("/host", config.Host)
	refuse := func(applies bool, pointer, detail string) {
		if applies {
			problems = append(problems, fault.FieldError{Pointer: pointer, Detail: detail})
		}
	}
	refuse(config.SSLMode == disable && !local && len(problems) == 0, "/sslmode", "a connection without TLS is only for addresses that the operator of the service allows; choose verify-full or require")
	refuse(config.SSLMode == disable && config.CACertificate != "", "/caCertificate", "belongs to a connection with TLS")
	refuse(config.longKey(), "/caCertificate", fmt.Sprintf("has a certificate with an RSA key of more than %d bits", keysize.MaxRSA))
	refuse(config.CACertificate != "" && config.roots() == nil, "/caCertificate", "has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")
	named := map[string]bool{}
	for n, s := range config.Streams {
		at := fmt.Sprintf("/streams/%d", n)
		refuse(named[s.Name], at+"/name", "names another stream too")
		named[s.Name] = true
		problems = append(problems, s.check(at)...)
	}
	return problems
}

// check lists what is wrong with a stream. The pointers start with at.
func (s Stream) check(at string) (problems []fault.FieldError) {
	refuse := func(applies bool, field, detail string) {
		if applies {
			problems = append(problems, fault.FieldError{Pointer: at + "/" + field, Detail: detail})
		}
	}
	refuse(several(s.Query), "query", "is one SELECT, so it has no ; outside of a text in quotes")
	measured := s.CurrentColumn != ""
	for _, f := range []struct{ field, value string }{
		{"progressColumn", s.ProgressColumn}, {"dueAtColumn", s.DueAtColumn}, {"currentColumn", s.CurrentColumn}, {"targetColumn", s.TargetColumn},
		{"unit", s.Unit}, {"direction", s.Direction},
	} {
		refuse(f.value != "" && s.Target != manifest.ToGoal, f.field, "belongs to the target goal")
	}
	refuse(measured && s.TargetColumn == "", "targetColumn", "is needed with currentColumn")
	refuse(measured && s.Unit == "", "unit", "is needed with currentColumn")
	refuse(measured && s.ProgressColumn != "", "progressColumn", "follows from currentColumn and targetColumn")
	refuse(!measured && s.TargetColumn != "", "targetColumn", "belongs to currentColumn")
	refuse(!measured && s.Unit != "", "unit", "belongs to currentColumn")
	refuse(!measured && s.Direction != "", "direction", "belongs to currentColumn")
	return problems
}

// longKey reports whether one of the configured authorities has a key that takes much time to verify with.
func (c Config) longKey() bool {
	for rest := []byte(c.CACertificate); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return false
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil && keysize.Above(certificate.PublicKey) {
			return true
		}
	}
}

// roots returns the configured authorities, or nil.
func (c Config) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	if c.CACertificate == "" || !pool.AppendCertsFromPEM([]byte(c.CACertificate)) {
		return nil
	}
	return pool
}

// read decodes a configuration that meets the schema.
func read(config json.RawMessage) Config {
	c := Config{Port: 5432, SSLMode: verifyFull}
	_ = json.Unmarshal(config, &c) // a configuration that was checked is such an object
	return c
}
