package admin

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os/user"
	"time"

	"orgops/functions/provisioner"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/identity/password"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/run/cloud"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
)

func createCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	name := flags.String("name", "", "the company's name (required)")
	email := flags.String("email", "", "the first founder's e-mail address (required)")
	plan := flags.String("plan", company.DefaultPlan, "the plan whose limits the gateway enforces: free, pro or enterprise")
	secret, err := e.parseWithPassword(flags, args)
	if err != nil {
		return err
	}
	request := provisioner.Request{Name: *name, Email: *email, Plan: *plan, Password: secret}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		created, err := e.provision(ctx, st, hasher, request)
		if err != nil {
			return err
		}
		e.tellKnown(created.Provisioned)
		return json.NewEncoder(e.Out).Encode(created)
	})
}

// noPlans warns an operator who works on a stack's table without the stack's other settings.
const noPlans = "ORGOPS_USAGE_PLANS is not set, so the company gets no usage key. A gateway that requires one refuses the company " +
	"(403). Set the variables of the stack's output AdminVariables, then repeat the command"

// provision creates a company. If the settings name the usage plans of a gateway, it works as the stack's provisioner does:
// it also creates a usage key, without which the gateway refuses the company.
func (e Env) provision(ctx context.Context, st store.Store, hasher *password.Hasher, r provisioner.Request) (provisioner.Answer, error) {
	if e.Config.Backend == config.AWS {
		c, err := cloud.Read(e.Getenv)
		if err != nil {
			return provisioner.Answer{}, err
		}
		if plans := c.Settings.UsagePlans; len(plans) > 0 {
			return e.provisioner(st, hasher, gatewaykeys.Open(c.Access, plans)).Handle(ctx, r)
		}
		e.tell("%s", noPlans)
	}
	made, err := company.Provision(ctx, e.recording(st, "create-company"), hasher, company.New{Name: r.Name, Email: r.Email, Plan: r.Plan, Password: r.Password}, time.Now())
	return provisioner.Answer{Provisioned: made}, err
}

// recording returns a store that adds the audit record of a command to its first commit.
func (e Env) recording(st store.Store, command string) store.Store {
	return audit.NewRecording(st, audit.Commanded(operator(), command, "", time.Now()))
}

func (e Env) provisioner(st store.Store, hasher *password.Hasher, plans provisioner.Plans) *provisioner.Provisioner {
	return &provisioner.Provisioner{
		Store: st, Hasher: hasher, Plans: plans, Operator: operator(), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

// operator returns the name of who runs the command, as the operating system knows it.
func operator() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}

func listCompanies(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		for item, err := range company.Registered(ctx, st) {
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "%s\n", item.Body)
		}
		return nil
	})
}
