package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"time"

	"orgops/local/command/restore"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// importCompany makes a company from an export. It takes a file and no pipe, because it reads the export twice.
func importCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	path := flags.String("file", "", "the output of company export (required)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *path == "" {
		return errors.New("--file: give the file that company export has written")
	}
	file, err := os.Open(*path)
	if err != nil {
		return err
	}
	defer file.Close()
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		made, err := restore.Company(ctx, e.recording(st, "import-company"), file, time.Now(), e.told("imported"))
		if err != nil {
			return err
		}
		for _, email := range made.NeedPassword {
			e.tell("%s cannot log in yet: orgops admin user password --email %s", email, email)
		}
		for _, provider := range made.NeedSecrets {
			e.tell("integration %s is disabled, because its secrets are not in the export: store them again, certify and enable it", provider)
		}
		return json.NewEncoder(e.Out).Encode(made)
	})
}
