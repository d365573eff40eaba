package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"orgops/functions/console"
	"orgops/local/command/admin"
	"orgops/local/command/apiclient"
	"orgops/local/command/attempt"
	"orgops/local/command/demo"
	"orgops/local/command/listen"
	"orgops/local/command/screen"
	"orgops/local/command/trigger"
	"orgops/local/process"
	"orgops/local/process/docs"
	"orgops/shared/base/version"
	"orgops/shared/domain/parked"
	"orgops/shared/run/config"
)

// command describes one way to call the program. Of two with the same name, which differ in their arguments, the first runs.
type command struct {
	name, args, about string
	run               func(ctx context.Context, c config.Config, args []string) error
	lists             func(program string) string // returns the lines of help of its subcommands, instead of its own
}

func commands() []command {
	return []command{
		{name: "", about: "serve the API, process events, show the documentation", run: serve},
		{name: "listen", args: "[--addr A] [--secret S]", about: "receive webhooks and report whether their signatures verify", run: runListen},
		{name: "listen", args: "--forward-to URL --email E [--events E,…]", about: "relay a company's events to an address of this machine", run: runListen},
		{name: "trigger", args: "[EVENT --email E]", about: "cause a real event; without an event, list the events", run: runTrigger},
		{name: "connector", args: "test MANIFEST [--record F]", about: "try a manifest against its server, or a recording of it", run: runConnector},
		{name: "version", about: "print the release, and the commit that the program was built from", run: printVersion},
		{name: "help", about: "print this help", run: printHelp},
		{name: "admin", lists: admin.Usage, run: runAdmin},
	}
}

// aliases maps the flags that stand for a command.
func aliases() map[string]string {
	return map[string]string{"--version": "version", "-h": "help", "--help": "help"}
}

// run dispatches to a command; without arguments it serves.
func run(ctx context.Context, args []string) error {
	c, err := config.Read(os.Getenv)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{""}
	}
	name := cmp.Or(aliases()[args[0]], args[0])
	for _, known := range commands() {
		if known.name == name {
			if err := known.run(ctx, c, args[1:]); !errors.Is(err, flag.ErrHelp) {
				return err
			}
			return nil
		}
	}
	help(os.Stderr)
	return fmt.Errorf("unknown command %q; see orgops help", args[0])
}

func runListen(ctx context.Context, _ config.Config, args []string) error {
	return listen.Run(ctx, args, terminal(), screen.Writer(os.Stdout))
}

func runTrigger(ctx context.Context, _ config.Config, args []string) error {
	return trigger.Run(ctx, args, terminal(), screen.Writer(os.Stdout))
}

func runConnector(ctx context.Context, _ config.Config, args []string) error {
	return attempt.Run(ctx, args, os.Getenv, screen.Writer(os.Stdout))
}

func runAdmin(ctx context.Context, c config.Config, args []string) error {
	return admin.Run(ctx, admin.Env{Config: c, Getenv: os.Getenv, In: os.Stdin, Out: screen.Writer(os.Stdout), Err: screen.Writer(os.Stderr)}, args)
}

func printVersion(context.Context, config.Config, []string) error {
	_, err := fmt.Println("orgops", version.Get())
	return err
}

func printHelp(context.Context, config.Config, []string) error {
	help(os.Stdout)
	return nil
}

const usage = `orgops runs the Organizational Operations Service in one process.

usage:
%s
environment:
%s
with ORGOPS_BACKEND=aws also:
%s
Every command has --help.
`

func help(w io.Writer) {
	program := demo.Command()
	var lines strings.Builder
	for _, c := range commands() {
		if c.lists != nil {
			lines.WriteString(c.lists(program))
			continue
		}
		lines.WriteString(admin.UsageLine(program, c.name, c.args, c.about))
	}
	fmt.Fprintf(w, usage, lines.String(), list(config.Settings()), list(config.CloudSettings()))
}

// terminal says where a command reads a password. Without a terminal there is no prompt.
func terminal() apiclient.Terminal {
	t := apiclient.Terminal{Getenv: os.Getenv, In: os.Stdin}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		t.Prompt = func(question string) (string, error) {
			fmt.Fprint(os.Stderr, question)
			password, err := term.ReadPassword(in)
			fmt.Fprintln(os.Stderr)
			return string(password), err
		}
	}
	return t
}

func list(settings []config.Setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "  %-27s %s", s.Name, s.Meaning)
		if s.Default != "" {
			fmt.Fprintf(&b, " (%s)", s.Default)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func serve(ctx context.Context, c config.Config, _ []string) error {
	logger := newLogger(c.LogLevel)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s (ORGOPS_ADDR): %w", c.Addr, err)
	}
	c.Addr = l.Addr().String()
	p, err := open(ctx, c, logger, "http://"+c.Addr)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	profiled, err := profile(c.CPUProfile)
	if err != nil {
		return errors.Join(err, l.Close(), p.Close())
	}
	err = errors.Join(p.Run(ctx, l), profiled())
	if errors.Is(err, parked.ErrHung) { // the worker may hold what Close waits for
		return err
	}
	return errors.Join(err, p.Close())
}

// open opens the backend that the settings name. Only a new data folder gets a demo company: a table on AWS may be shared
// with others.
func open(ctx context.Context, c config.Config, logger *slog.Logger, base string) (*process.Process, error) {
	if c.Backend == config.AWS {
		p, err := process.OpenAWS(ctx, os.Getenv, logger)
		if err != nil {
			return nil, fmt.Errorf("ORGOPS_BACKEND=aws: %w", err)
		}
		logger.Info("serving", "url", base, "console", base+console.Path, "docs", base+docs.Path, "table", os.Getenv("ORGOPS_TABLE"))
		return p, nil
	}
	p, err := process.Open(ctx, c, logger)
	if err != nil {
		return nil, err
	}
	if err := demo.Welcome(ctx, os.Stdout, p.Services, base); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	logger.Info("serving", "url", base, "console", base+console.Path, "docs", base+docs.Path, "data", c.Data, "mails", p.Mails(c, base))
	return p, nil
}

// profile writes a CPU profile to path until the caller calls stop. With an empty path it does nothing.
func profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// newLogger returns a logger that writes readable text to a terminal and JSON lines elsewhere.
func newLogger(level slog.Level) *slog.Logger {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: level, TimeFormat: time.TimeOnly, ReplaceAttr: screen.Attr}))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
