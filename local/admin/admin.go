// Package admin is the operator's commands. They work beside a running service.
package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"orgops/local/process"
	"orgops/shared/company"
	"orgops/shared/config"
	"orgops/shared/fault"
	"orgops/shared/password"
	"orgops/shared/store"
	"orgops/shared/user"
)

// Env is what a command runs in.
type Env struct {
	Config config.Config
	Getenv func(string) string // for the settings of the cloud
	In     io.Reader
	Out    io.Writer
}

// Run runs one command and prints its result: JSON lines, where nothing else is said.
func Run(ctx context.Context, e Env, args []string) error {
	commands := map[string]func(context.Context, Env, []string) error{
		"company create": createCompany, "company list": listCompanies, "user add": addUser, "keys rotate": rotateKeys,
		"keys rewrap": rewrapKeys, "aws create": createAWS,
	}
	if len(args) >= 2 {
		if command, ok := commands[args[0]+" "+args[1]]; ok {
			return explain(command(ctx, e, args[2:]))
		}
	}
	return errors.New("usage: admin company create | company list | user add | keys rotate | keys rewrap | aws create; each has --help")
}

// explain lists every problem of a refused request.
func explain(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	if len(f.Problems) == 0 {
		return errors.New(f.Detail)
	}
	lines := make([]string, 0, len(f.Problems))
	for _, p := range f.Problems {
		lines = append(lines, fmt.Sprintf("--%s: %s", strings.TrimPrefix(p.Pointer, "/"), p.Detail))
	}
	return errors.New(strings.Join(lines, "; "))
}

// with opens the store for one command.
func with(ctx context.Context, e Env, do func(store.Store, *password.Hasher) error) error {
	hasher := password.New()
	if e.Config.Backend == config.AWS {
		table, err := process.OpenTable(ctx, e.Getenv, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		return do(table, hasher)
	}
	backend, err := process.OpenEmbedded(ctx, e.Config.Data, false, time.Now)
	if err != nil {
		return err
	}
	return errors.Join(do(backend.Store, hasher), backend.Close())
}

func createCompany(ctx context.Context, e Env, args []string) error {
	flags := flag.NewFlagSet("admin company create", flag.ContinueOnError)
	name := flags.String("name", "", "the company's name (required)")
	email := flags.String("email", "", "the first founder's e-mail address (required)")
	fromStdin := flags.Bool("password-stdin", false, "read the founder's password from the first line of standard input; without, one is made and printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	secret, err := readPassword(*fromStdin, e.In)
	if err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		created, err := company.Provision(ctx, st, hasher, company.New{Name: *name, Email: *email, Password: secret}, time.Now())
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(created) //nolint:gosec // G117: to show the password this once is what the command is for
	})
}

func readPassword(fromStdin bool, in io.Reader) (string, error) {
	if !fromStdin {
		return "", nil
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("--password-stdin: standard input holds no password")
	}
	return line, nil
}

func listCompanies(ctx context.Context, e Env, args []string) error {
	if err := flag.NewFlagSet("admin company list", flag.ContinueOnError).Parse(args); err != nil {
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

func addUser(ctx context.Context, e Env, args []string) error {
	flags := flag.NewFlagSet("admin user add", flag.ContinueOnError)
	companyID := flags.String("company", "", "the company's id (required)")
	email := flags.String("email", "", "the user's e-mail address (required)")
	role := flags.String("role", string(user.Member), "founder, member, operator or integration")
	fromStdin := flags.Bool("password-stdin", false, "read the password from the first line of standard input; without, one is made and printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	secret, err := readPassword(*fromStdin, e.In)
	if err != nil {
		return err
	}
	return with(ctx, e, func(st store.Store, hasher *password.Hasher) error {
		added, made, err := company.AddUser(ctx, st, hasher, *companyID, company.NewUser{Email: *email, Role: user.Role(*role), Password: secret}, time.Now())
		if err != nil {
			return err
		}
		return json.NewEncoder(e.Out).Encode(company.Provisioned{CompanyID: *companyID, UserID: added.ID, Email: added.Email, Password: made}) //nolint:gosec // G117: as above
	})
}
