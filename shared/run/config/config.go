// Package config reads the environment. No other package reads settings, so this package lists all of them.
package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// These name the backends of the local process.
const (
	Embedded = "embedded" // SQLite and key files in a folder
	AWS      = "aws"      // DynamoDB, SQS, KMS and Secrets Manager, or emulators of them
)

// Config holds the settings of a process.
type Config struct {
	Backend       string         // ORGOPS_BACKEND: Embedded or AWS; default Embedded
	Addr          string         // ORGOPS_ADDR: host:port to listen on; default 127.0.0.1:4000
	Data          string         // ORGOPS_DATA: folder of the embedded backend; default ./data
	Issuer        string         // ORGOPS_ISSUER: iss of access tokens, and the address of the service for sign-ins; default http:// and Addr
	FormerIssuer  string         // ORGOPS_FORMER_ISSUER: another address of the service, whose tokens and sign-ins go on; default none
	Audience      string         // ORGOPS_AUDIENCE: aud of access tokens; default orgops
	LogLevel      slog.Level     // ORGOPS_LOG: debug, info, warn or error; default info
	CPUProfile    string         // ORGOPS_CPUPROFILE: file for a CPU profile while serving; default none
	Origins       []string       // ORGOPS_CORS_ORIGINS: origins of web pages that may read responses; "*": any
	AllowNetworks []netip.Prefix // ORGOPS_ALLOW_NETWORKS: private networks that deliveries may reach, such as 10.1.0.0/16,fd00::/8
	Egress        []netip.Prefix // ORGOPS_EGRESS: the addresses from which the process sends, as tenants see them; default none
	Proxies       []netip.Prefix // ORGOPS_TRUSTED_PROXIES: networks of the proxies in front whose headers tell the client's address
	RootCAs       *x509.CertPool // ORGOPS_CA_FILE: the authorities that outgoing connections trust; nil: the system's
	SMTP          string         // ORGOPS_SMTP_URL: the mail host; default none
	MailFrom      string         // ORGOPS_MAIL_FROM: the address that mails come from; default none
	MailSet       string         // ORGOPS_MAIL_SET: SES's configuration set for mails; default none
	SlackURL      string         // ORGOPS_SLACK_URL: where Slack is; default https://slack.com
	Applications  string         // ORGOPS_APPLICATIONS_FILE: the applications that the operator has registered with providers; default none
	SlackApp      [3]string      // ORGOPS_SLACK_CLIENT_ID, _CLIENT_SECRET, _SIGNING_SECRET: of the operator's Slack app; default none
	NoExecutives  bool           // EXECUTIVES_ENABLED: false leaves the Executive Runtime out; default true
}

// Setting documents one variable of the environment.
type Setting struct{ Name, Default, Meaning string }

// Settings lists the variables that Read reads, for help texts.
func Settings() []Setting {
	return []Setting{
		{"ORGOPS_BACKEND", Embedded, "storage of all data: embedded (SQLite in a folder) or aws"},
		{"ORGOPS_ADDR", "127.0.0.1:4000", "host:port to listen on"},
		{"ORGOPS_DATA", "./data", "folder of the store and the keys; embedded only"},
		{"ORGOPS_ISSUER", "", "iss of access tokens, and the address that sign-ins through an identity provider return to; if unset, http:// and ORGOPS_ADDR"},
		{"ORGOPS_AUDIENCE", "orgops", "aud of access tokens"},
		{"ORGOPS_LOG", "info", "debug, info, warn or error"},
		{"ORGOPS_CORS_ORIGINS", "*", "origins of web pages that may read responses, such as https://dashboard.example.com, comma separated; *: any; none: no page"},
		{"ORGOPS_ALLOW_NETWORKS", "", "networks, comma separated, that endpoints and feeds may be in although they are not public; 127.0.0.0/8 and ::1 too while ORGOPS_ADDR is one of them and ORGOPS_TRUSTED_PROXIES is not set"},
		{"ORGOPS_EGRESS", "", "addresses or networks, comma separated, from which webhooks and syncs leave, if they are fixed; users see them in order to allow them"},
		{"ORGOPS_TRUSTED_PROXIES", "", "addresses or networks, comma separated, of the proxies in front whose Forwarded and X-Forwarded-For headers tell the client's address; if unset, the headers are ignored"},
		{"ORGOPS_CA_FILE", "", "PEM file with certificate authorities that endpoints, sources and identity providers may use, in addition to the system's"},
		{"ORGOPS_SMTP_URL", "", "host that takes mails, such as smtp://user:password@mail.example.com:587 (STARTTLS is needed) or smtps:// (TLS from the first byte); a host on this machine may do without TLS; unset: mails are kept in the folder mails of ORGOPS_DATA"},
		{"ORGOPS_MAIL_FROM", "", "address that mails come from, such as Orgops <orgops@example.com>; needed with ORGOPS_SMTP_URL"},
		{"ORGOPS_SLACK_URL", "https://slack.com", "where Slack is; another address is for tests, and then incoming webhooks are there too"},
		{"ORGOPS_APPLICATIONS_FILE", "", "JSON file with the applications that you have registered with providers, so that users connect without pasted tokens; see the guide Connect providers"},
		{"ORGOPS_SLACK_CLIENT_ID", "", "client id of the Slack app that companies install; needs the next two"},
		{"ORGOPS_SLACK_CLIENT_SECRET", "", "client secret of the Slack app"},
		{"ORGOPS_SLACK_SIGNING_SECRET", "", "signing secret of the Slack app, with which Slack signs the presses of buttons"},
		{"EXECUTIVES_ENABLED", "true", "false: the routes of the Executive Runtime are not there"},
		{"ORGOPS_CPUPROFILE", "", "file for a CPU profile while serving"},
	}
}

// Origins parses a list of web page origins. "*" alone stands for any origin, "none" alone for no page. An origin has no
// path, because browsers send none (RFC 6454 §6.2).
func Origins(text string) ([]string, error) {
	origins := list(text)
	if len(origins) == 1 && origins[0] == "*" {
		return origins, nil
	}
	if len(origins) == 1 && origins[0] == "none" {
		return nil, nil
	}
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+strings.ToLower(u.Host) != origin {
			return nil, fmt.Errorf("%q is not an origin such as https://dashboard.example.com", origin)
		}
	}
	return origins, nil
}

// Read reads the settings through getenv (os.Getenv). The error names every invalid variable and the values that it
// accepts.
func Read(getenv func(string) string) (Config, error) {
	value := func(name string) string {
		if v := strings.TrimSpace(getenv(name)); v != "" {
			return v
		}
		for _, s := range Settings() {
			if s.Name == name {
				return s.Default
			}
		}
		return ""
	}
	c := Config{
		Backend: value("ORGOPS_BACKEND"), Addr: value("ORGOPS_ADDR"), Data: value("ORGOPS_DATA"), Issuer: value("ORGOPS_ISSUER"), FormerIssuer: value("ORGOPS_FORMER_ISSUER"), Audience: value("ORGOPS_AUDIENCE"),
		CPUProfile: value("ORGOPS_CPUPROFILE"), SMTP: value("ORGOPS_SMTP_URL"), MailFrom: value("ORGOPS_MAIL_FROM"), MailSet: value("ORGOPS_MAIL_SET"), SlackURL: strings.TrimSuffix(value("ORGOPS_SLACK_URL"), "/"), Applications: value("ORGOPS_APPLICATIONS_FILE"),
	}
	for n, name := range []string{"ORGOPS_SLACK_CLIENT_ID", "ORGOPS_SLACK_CLIENT_SECRET", "ORGOPS_SLACK_SIGNING_SECRET"} {
		c.SlackApp[n] = value(name)
	}
	if c.Issuer == "" {
		c.Issuer = issuerAt(c.Addr)
	}
	var problems []error
	if c.Backend != Embedded && c.Backend != AWS {
		problems = append(problems, errors.New("ORGOPS_BACKEND must be embedded or aws"))
	}
	if err := c.LogLevel.UnmarshalText([]byte(value("ORGOPS_LOG"))); err != nil {
		problems = append(problems, fmt.Errorf("ORGOPS_LOG must be debug, info, warn or error"))
	}
	switch enabled := value("EXECUTIVES_ENABLED"); enabled {
	case "true", "false":
		c.NoExecutives = enabled == "false"
	default:
		problems = append(problems, errors.New("EXECUTIVES_ENABLED must be true or false"))
	}
	var err error
	if c.Origins, err = Origins(value("ORGOPS_CORS_ORIGINS")); err != nil {
		problems = append(problems, fmt.Errorf("ORGOPS_CORS_ORIGINS: %w", err))
	}
	if file := value("ORGOPS_CA_FILE"); file != "" {
		if c.RootCAs, err = authorities(file); err != nil {
			problems = append(problems, fmt.Errorf("ORGOPS_CA_FILE: %w", err))
		}
	}
	if c.AllowNetworks, err = networks(value("ORGOPS_ALLOW_NETWORKS")); err != nil {
		problems = append(problems, fmt.Errorf("ORGOPS_ALLOW_NETWORKS: %w", err))
	}
	if c.Egress, err = networks(value("ORGOPS_EGRESS")); err != nil {
		problems = append(problems, fmt.Errorf("ORGOPS_EGRESS: %w", err))
	}
	if c.Proxies, err = networks(value("ORGOPS_TRUSTED_PROXIES")); err != nil {
		problems = append(problems, fmt.Errorf("ORGOPS_TRUSTED_PROXIES: %w", err))
	}
	return c, errors.Join(problems...)
}

// networks parses a list of networks. An address stands for the network of itself.
func networks(text string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range list(text) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil || a.Zone() != "" {
				return nil, fmt.Errorf("%q is not a network such as 10.1.0.0/16, and no address", text)
			}
			prefix = netip.PrefixFrom(a, a.BitLen())
		}
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// issuerAt returns the issuer of a service that listens on an address. All addresses of the machine count as 127.0.0.1, and a
// port that is not known yet as 4000, so that the tokens of an earlier start stay valid.
func issuerAt(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 {
		return "http://127.0.0.1:4000"
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
