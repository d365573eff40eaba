// Package admin is the operator's commands. They work beside a running service.
package admin

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"orgops/local/process"
	"orgops/shared/config"
	"orgops/shared/fault"
	"orgops/shared/password"
	"orgops/shared/store"
)

// Env is what a command runs in.
type Env struct {
	Config config.Config
	Getenv func(string) string // for the settings of the cloud
	In     io.Reader
	Out    io.Writer
	Err    io.Writer // what is no result: help, how far a long command is, what to look at; nil: nobody is told
}

func (e Env) tell(format string, args ...any) {
	if e.Err != nil {
		fmt.Fprintf(e.Err, format+"\n", args...)
	}
}

// command is one of the operator's commands.
type command struct {
	name, args, about string
	run               func(context.Context, Env, *flag.FlagSet, []string) error
}

func commands() []command {
	return []command{
		{"company create", "--name N --email E", "create a company with its first founder", createCompany},
		{"company list", "", "list companies", listCompanies},
		{"user add", "--company C --email E --role R", "add a founder, member, operator or integration", addUser},
		{"user password", "--email E", "give a user another password", setPassword},
		{"keys rotate", "", "make a new token key; the one before still verifies", rotateKeys},
		{"keys rewrap", "", "wrap companies' data keys anew: by a new key file, or on AWS by ORGOPS_WRAPPING_KEY", rewrapKeys},
		{"aws create", "[--prefix P]", "make tables, queues and keys in an emulator of AWS, for ORGOPS_BACKEND=aws", createAWS},
	}
}

// Usage is a line for each command, of a program of this name.
func Usage(program string) string {
	var b strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-58s %s\n", strings.TrimSpace(program+" admin "+c.name+" "+c.args), c.about)
	}
	return b.String()
}

// Run runs one command and prints its result: JSON lines, where nothing else is said. Without a command, and for one that
// asks for help, the error is flag.ErrHelp or says what there is.
func Run(ctx context.Context, e Env, args []string) error {
	if len(args) >= 2 {
		for _, c := range commands() {
			if c.name == args[0]+" "+args[1] {
				return fault.Explain(c.run(ctx, e, e.flags(c), args[2:]), "--")
			}
		}
	}
	e.tell("usage:\n%sEvery command has --help.", Usage("orgops"))
	if len(args) == 0 || args[len(args)-1] == "-h" || args[len(args)-1] == "--help" || args[0] == "help" {
		return flag.ErrHelp
	}
	return fmt.Errorf("unknown command: admin %s", strings.Join(args, " "))
}

// flags are the command's, without any yet.
func (e Env) flags(c command) *flag.FlagSet {
	f := flag.NewFlagSet("admin "+c.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {
		if e.Err != nil {
			f.SetOutput(e.Err)
			e.tell("orgops %s: %s", strings.TrimSpace("admin "+c.name+" "+c.args), c.about)
			f.PrintDefaults()
			f.SetOutput(io.Discard) // the flag's error comes back from Parse
		}
	}
	return f
}

// parse refuses what is left behind the flags, too: of `list --name A` nothing would be known otherwise.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s takes no %q; see --help", f.Name(), f.Arg(0))
	}
	return nil
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

// parseWithPassword is parse for a command that takes a password: "" where one is to be made.
func (e Env) parseWithPassword(f *flag.FlagSet, args []string) (string, error) {
	stdin := f.Bool("password-stdin", false, "read the password from the first line of standard input; without, one is made and printed")
	if err := parse(f, args); err != nil || !*stdin {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(e.In, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("--password-stdin: standard input holds no password")
	}
	return line, nil
}
