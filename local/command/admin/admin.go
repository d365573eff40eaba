// Package admin implements the operator's commands. They can run while the service runs, except for keys rewrap in a data
// folder.
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
	"orgops/shared/base/fault"
	"orgops/shared/identity/password"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
)

// Env holds the settings and streams that a command works with.
type Env struct {
	Config config.Config
	Getenv func(string) string // to read the cloud settings
	In     io.Reader
	Out    io.Writer
	Err    io.Writer // for help, progress and warnings; nil discards them
}

func (e Env) tell(format string, args ...any) {
	if e.Err != nil {
		fmt.Fprintf(e.Err, format+"\n", args...)
	}
}

// command describes one of the operator's commands.
type command struct {
	name, args, about string
	run               func(context.Context, Env, *flag.FlagSet, []string) error
}

func commands() []command {
	return []command{
		{"company create", "--name N --email E", "create a company with its first founder", createCompany},
		{"company list", "", "list companies", listCompanies},
		{"company show", "--company C", "show a company with its plan, and whether it is suspended", showCompany},
		{"company suspend", "--company C [--reason R]", "refuse a company's writes and webhooks, and hold its deliveries; reads go on", suspendCompany},
		{"company resume", "--company C", "end a suspension, and send the deliveries that it has held", resumeCompany},
		{"company plan", "--company C --plan P", "move a company to another plan, without a refused request", planCompany},
		{"company erase", "--company C --name N", "erase a company whose founder has asked for it; see --without-request", eraseCompany},
		{"company export", "--company C", "print everything that a company has as JSON Lines, without secrets", exportCompany},
		{"company import", "--file F", "make a company from its export, which has no secrets; prints what needs them", importCompany},
		{"user add", "--company C --email E --role R", "add a founder, member, operator or, with --provider P, an integration", addUser},
		{"user password", "--email E", "set a new password for a user", setPassword},
		{"user reset", "--email E", "print the code by which a person who asked for it replaces a lost password, once", resetPassword},
		{"user factors", "--email E", "remove the second factors of a person who has lost them", removeFactors},
		{"keys rotate", "[--revoke]", "create a new token key; the previous one still verifies, unless it is revoked", rotateKeys},
		{"keys rewrap", "", "rewrap companies' data keys: with a new key file, or on AWS with ORGOPS_WRAPPING_KEY", rewrapKeys},
		{"context rebuild", "--company C | --all", "compute contexts again from the records, while the service runs or stands still", rebuildContexts},
		{"parked list", "[--company C]", "list the changes that a worker did not understand, with the reasons", listParked},
		{"parked retry", "[--company C] [--id I]", "give parked changes to the dispatcher again, after the cause is repaired", retryParked},
		{"queue dead-letters", "--queue Q", "list the dead letters of the queue retries, syncs or notices", listDeadLetters},
		{"queue redrive", "--queue Q", "send the dead letters of the queue retries, syncs or notices again", redriveQueue},
		{"stream replay", "--failed | --shard S --from N --to M", "read changes again that Lambda discarded (AWS only)", replayStream},
		{"table restore", "--table main|keys --to NAME [--at T]", "restore a table to a moment as another one, with all that a stack needs of it (AWS only)", restoreTable},
		{"aws create", "[--prefix P]", "create tables, queues and keys in an AWS emulator, for ORGOPS_BACKEND=aws", createAWS},
	}
}

// Usage returns one line of help for each command of the named program.
func Usage(program string) string {
	var b strings.Builder
	for _, c := range commands() {
		b.WriteString(UsageLine(program, "admin "+c.name, c.args, c.about))
	}
	return b.String()
}

// UsageLine returns the line of help of one command.
func UsageLine(program, name, args, about string) string {
	words := strings.Join(strings.Fields(program+" "+name+" "+args), " ")
	return fmt.Sprintf("  %-58s %s\n", words, about)
}

// Run runs one command and prints its result, as JSON lines unless the command prints text. It returns flag.ErrHelp when help
// was asked for or args is empty, and an error that names an unknown command.
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
	return fmt.Errorf("unknown command: admin %s; see orgops admin --help", strings.Join(args, " "))
}

// flags returns an empty flag set that prints the command's help.
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

// parse parses the flags. It refuses arguments after the flags, which the command would otherwise silently ignore.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q; see --help", f.Name(), f.Arg(0))
	}
	return nil
}

// with opens the store, calls do with it and closes it.
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

// parseWithPassword parses the flags of a command that takes a password. It returns "" if the command must generate one.
func (e Env) parseWithPassword(f *flag.FlagSet, args []string) (string, error) {
	stdin := f.Bool("password-stdin", false, "read the password from the first line of standard input; without this flag a password is generated and printed")
	if err := parse(f, args); err != nil || !*stdin {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(e.In, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("--password-stdin: standard input holds no password; write it on the first line")
	}
	return line, nil
}
