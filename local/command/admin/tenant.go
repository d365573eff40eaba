package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"

	"orgops/functions/provisioner"
	"orgops/shared/identity/password"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/run/cloud"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
)

func showCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	return e.administer(ctx, &provisioner.Request{Action: provisioner.Show}, flags, args)
}

func suspendCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	r := &provisioner.Request{Action: provisioner.Suspend}
	flags.StringVar(&r.Reason, "reason", "", "why, for your own records")
	return e.administer(ctx, r, flags, args)
}

func resumeCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	return e.administer(ctx, &provisioner.Request{Action: provisioner.Resume}, flags, args)
}

func planCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	r := &provisioner.Request{Action: provisioner.Plan}
	flags.StringVar(&r.Plan, "plan", "", "the plan: free, pro or enterprise (required)")
	return e.administer(ctx, r, flags, args)
}

// administer carries out an action on the company that the flags name, as the stack's provisioner does, and prints the answer.
func (e Env) administer(ctx context.Context, r *provisioner.Request, flags *flag.FlagSet, args []string) error {
	flags.StringVar(&r.CompanyID, "company", "", "the company's id (required)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if r.CompanyID == "" {
		return errors.New("--company: give the company's id")
	}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		var plans provisioner.Plans
		opened, ok, err := e.plans()
		if err != nil {
			return err
		}
		if ok {
			plans = opened
		}
		if !ok && r.Action == provisioner.Plan && e.Config.Backend == config.AWS {
			e.tell("%s", noPlans)
		}
		answer, err := e.provisioner(st, hasher, plans).Administer(ctx, *r)
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(answer)
	})
}

// plans opens the gateway's usage plans. ok is false if the settings name none.
func (e Env) plans() (plans *gatewaykeys.Plans, ok bool, err error) {
	if e.Config.Backend != config.AWS {
		return nil, false, nil
	}
	c, err := cloud.Read(e.Getenv)
	if err != nil || len(c.Settings.UsagePlans) == 0 {
		return nil, false, err
	}
	return gatewaykeys.Open(c.Access, c.Settings.UsagePlans), true, nil
}
