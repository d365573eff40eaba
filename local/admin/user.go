package admin

import (
	"context"
	"encoding/json"
	"flag"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

func addUser(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	companyID := flags.String("company", "", "the company's id (required)")
	email := flags.String("email", "", "the user's e-mail address (required)")
	role := flags.String("role", string(user.Member), "founder, member, operator or integration")
	secret, err := e.parseWithPassword(flags, args)
	if err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		added, made, err := company.AddUser(ctx, st, hasher, *companyID, company.NewUser{Email: *email, Role: user.Role(*role), Password: secret}, time.Now())
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(company.Provisioned{CompanyID: *companyID, UserID: added.ID, Email: added.Email, Password: made}) //nolint:gosec // G117: the command exists to show the password this once
	})
}

func setPassword(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	email := flags.String("email", "", "the user's e-mail address (required)")
	secret, err := e.parseWithPassword(flags, args)
	if err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		changed, err := company.SetPassword(ctx, st, hasher, *email, secret)
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(changed) //nolint:gosec // G117: the command exists to show the password this once
	})
}
