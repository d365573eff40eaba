package admin

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// exportCompany prints a company's items, a line each.
func exportCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	companyID := flags.String("company", "", "the company's id (required)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *companyID == "" {
		return errors.New("--company: give the company's id")
	}
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		c := store.For(st, *companyID)
		if _, err := c.Get(ctx, company.Key, nil); err != nil {
			return store.Fault(err, fmt.Sprintf("--company: there is no company %q", *companyID))
		}
		for after := ""; ; {
			lines, next, err := export.Page(ctx, c, after)
			if err != nil {
				return err
			}
			if _, err := e.Out.Write(lines); err != nil {
				return err
			}
			if after = next; after == "" {
				return nil
			}
		}
	})
}
