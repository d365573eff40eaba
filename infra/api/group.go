package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/constructs-go/constructs/v10"

	"orgops/infra/data"
	"orgops/infra/function"
)

// need lists what a route group needs beyond its company's items and the token keys.
type need struct {
	memory       float64 // MiB; 0: 256
	read, write  []string
	remove       []string // partitions outside of companies, whose items leave no tombstone
	seal, unseal bool
	sign         bool
	connects     bool // uses the operator's applications with providers
	sends        bool // calls addresses that tenants chose
	mails        bool
	nothing      bool // serves files: no items and no keys
}

// needs returns each group's needs. A group that is not listed reads items of companies, and writes them unless all of its
// operations are GET.
func needs() map[string]need {
	return map[string]need{
		// hashing a password needs a full processor
		"auth": {
			memory: 1024, sends: true, sign: true, seal: true, read: []string{data.Companies, data.Logins},
			write: []string{data.Companies, data.Logins, data.Timers}, remove: []string{data.Logins},
		},
		"sso": {
			sends: true, seal: true, read: []string{data.Companies, data.Logins}, write: []string{data.Companies, data.Logins},
			remove: []string{data.Logins},
		},
		"integrations": {sends: true, seal: true, connects: true, write: []string{data.Companies, data.Timers}},
		"inbound":      {unseal: true, connects: true, write: []string{data.Companies, data.Timers}},
		"executives":   {write: []string{data.Companies, data.Timers}},
		"memory":       {write: []string{data.Companies, data.Timers}}, // the review of a goal with a date
		"mcp":          {write: []string{data.Companies, data.Timers}}, // an executive's actions
		"operations": {
			sends: true, mails: true, seal: true, // a test of a channel of notices
			read: []string{data.Companies, data.Logins}, write: []string{data.Companies, data.Logins, data.Timers},
			remove: []string{data.Logins},
		},
		"console": {memory: 128, nothing: true},
	}
}

// group creates a route group's function.
func (a *API) group(scope constructs.Construct, p Props, g Group) *function.Function {
	n := needs()[g.Name]
	if n.memory == 0 {
		n.memory = 256
	}
	f := function.New(scope, p.Functions, function.Props{
		Name: g.Name, About: g.About, Memory: n.memory, Timeout: gatewayTimeout, Traced: true, Sends: n.sends,
	})
	a.Issue(f)
	f.Set("ORGOPS_CORS_ORIGINS", cmp.Or(strings.Join(p.Origins, ","), "none"))
	if n.nothing {
		return f
	}
	if n.mails {
		f.Mails(p.Functions)
	}
	if secret := p.Functions.SlackSecret; g.Name == "operations" && secret != "" {
		f.Set("ORGOPS_SLACK_SECRET", secret)
		f.Allow([]string{"secretsmanager:GetSecretValue"}, nil, secret)
	}
	if p.PlanLimits {
		f.Set("ORGOPS_PLAN_LIMITS", "true")
	}
	if g.Name == "operations" && p.Functions.Egress != nil {
		f.Set("ORGOPS_EGRESS", p.Functions.Egress.Addresses()) // it tells them to users
	}
	if (g.Name == "operations" || g.Name == "mcp") && !slices.ContainsFunc(p.Groups, func(g Group) bool { return g.Name == "executives" }) {
		f.Set("EXECUTIVES_ENABLED", "false") // they carry out what executives ask for
	}
	if n.sign {
		p.Data.Sign(f)
	} else {
		p.Data.Tokens(f)
	}
	if n.read == nil {
		n.read = []string{data.Companies}
	}
	if n.write == nil && !g.ReadsOnly() {
		n.write = []string{data.Companies}
	}
	p.Data.Read(f, n.read...)
	if n.write != nil {
		p.Data.Write(f, n.write...)
	}
	if n.remove != nil {
		p.Data.Remove(f, n.remove...)
	}
	if n.connects {
		p.Data.Connect(f)
	}
	switch {
	case n.seal:
		p.Data.Seal(f)
	case n.unseal:
		p.Data.Unseal(f)
	}
	return f
}
