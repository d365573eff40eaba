package admin

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/provider/catalog"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

func addUser(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	companyID := flags.String("company", "", "the company's id (required)")
	email := flags.String("email", "", "the user's e-mail address (required)")
	role := flags.String("role", string(user.Member), "founder, member, operator or integration")
	provider := flags.String("provider", "", "the only integration that the user may reach, such as github (required for the role integration)")
	secret, err := e.parseWithPassword(flags, args)
	if err != nil {
		return err
	}
	in := company.NewUser{Email: *email, Role: user.Role(*role), Provider: *provider, Password: secret}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		if err := checkProvider(ctx, store.For(st, *companyID), *provider); err != nil {
			return err
		}
		_, added, err := company.AddUser(ctx, e.recording(st, "add-user"), hasher, *companyID, in, time.Now())
		if err != nil {
			return err
		}
		e.tellKnown(added)
		return json.NewEncoder(e.Out).Encode(added) //nolint:gosec // G117: the command exists to show the password this once
	})
}

// tellKnown says that a person keeps the password of their other companies.
func (e Env) tellKnown(p company.Provisioned) {
	if p.Known {
		e.tell("%s has a login already and keeps its password; a lost one is replaced with `orgops admin user password --email %s`", p.Email, p.Email)
	}
}

// checkProvider refuses a name that no connector has. The integration need not be configured yet.
func checkProvider(ctx context.Context, c store.Company, provider string) error {
	if provider == "" {
		return nil
	}
	if _, err := catalog.All(outbound.New(outbound.Options{}), time.Now).Find(ctx, c, provider); err != nil {
		return fmt.Errorf("--provider: %w", err)
	}
	return nil
}

func setPassword(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	email := flags.String("email", "", "the user's e-mail address (required)")
	secret, err := e.parseWithPassword(flags, args)
	if err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		changed, err := company.SetPassword(ctx, e.recording(st, "set-password"), hasher, *email, secret, time.Now())
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(changed) //nolint:gosec // G117: the command exists to show the password this once
	})
}

// removeFactors removes a person's second factors, after the operator has made sure who asks. Each company of the person has a record,
// and the person gets a notice.
func removeFactors(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	email := flags.String("email", "", "the person's e-mail address (required)")
	if err := parse(flags, args); err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		now := time.Now()
		removed, err := company.RemoveFactors(ctx, st, *email, func(a company.Account) (ops []store.Op, err error) {
			for _, m := range a.Members {
				ops = append(ops, audit.Write(store.For(st, m.CompanyID), audit.Commanded(operator(), "remove-factors", "operations/users/"+m.UserID, now), 1))
			}
			if open := a.Open(); len(open) > 0 {
				c := store.For(st, open[0].CompanyID)
				u, _, err := company.GetUser(ctx, c, open[0].UserID)
				if err != nil {
					return nil, err
				}
				ops = append(ops, notice.FactorRemoved(u.ID, "", now).Create(c)...)
			}
			return ops, nil
		})
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(map[string]any{"email": *email, "removed": removed})
	})
}

// resetPassword prints a code for the operator to deliver.
func resetPassword(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	email := flags.String("email", "", "the e-mail address for which a reset was asked (required)")
	if err := parse(flags, args); err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		code, err := company.NewResetCode(ctx, st, *email, time.Now())
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(code)
	})
}
