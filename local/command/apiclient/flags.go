package apiclient

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// The variables of the environment that replace flags. A password has no flag: arguments are visible to other users.
const (
	baseVariable     = "ORGOPS_URL"
	emailVariable    = "ORGOPS_EMAIL"
	passwordVariable = "ORGOPS_PASSWORD"
)

// Terminal says where a command reads what only its user knows.
type Terminal struct {
	Getenv func(string) string
	In     io.Reader
	Prompt func(question string) (string, error) // reads without an echo; nil: there is no terminal
}

// LoginFlags holds the flags of a command that logs in.
type LoginFlags struct {
	base, email *string
	stdin       *bool
	terminal    Terminal
}

// Flags adds the flags to a command.
func Flags(f *flag.FlagSet, t Terminal) *LoginFlags {
	base := t.Getenv(baseVariable)
	if base == "" {
		base = "http://127.0.0.1:4000"
	}
	return &LoginFlags{
		base:     f.String("api", base, "address of the service; "+baseVariable+" sets it too"),
		email:    f.String("email", t.Getenv(emailVariable), "e-mail address to log in with; "+emailVariable+" sets it too"),
		stdin:    f.Bool("password-stdin", false, "read the password from the first line of standard input; else it is taken from "+passwordVariable+", or asked for"),
		terminal: t,
	}
}

// Parse parses the arguments of a command. Asked for help, it prints the help and the flags to out and returns flag.ErrHelp.
func Parse(set *flag.FlagSet, args []string, help string, out io.Writer) error {
	set.SetOutput(io.Discard)
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, help, "\nflags:\n")
		set.SetOutput(out)
		set.PrintDefaults()
	case err != nil:
		err = fmt.Errorf("%w; see --help", err)
	}
	return err
}

// Account returns the account after the flags were parsed.
func (l *LoginFlags) Account() (Account, error) {
	if *l.email == "" {
		return Account{}, fmt.Errorf("--email: say who logs in; %s sets it too", emailVariable)
	}
	password, err := l.password()
	return Account{Base: *l.base, Email: *l.email, Password: password}, err
}

func (l *LoginFlags) password() (string, error) {
	if *l.stdin {
		line, err := bufio.NewReader(io.LimitReader(l.terminal.In, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return "", errors.New("--password-stdin: standard input holds no password; write it on the first line")
		}
		return line, nil
	}
	if password := l.terminal.Getenv(passwordVariable); password != "" {
		return password, nil
	}
	if l.terminal.Prompt == nil {
		return "", fmt.Errorf("the password is missing: set %s, or use --password-stdin; there is no terminal to ask at", passwordVariable)
	}
	return l.terminal.Prompt(fmt.Sprintf("Password of %s: ", *l.email))
}
