package acceptance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
)

// orgops runs a command of the program to its end, and returns what it printed. Input is its standard input.
func (c *canaries) orgops(input string, args ...string) string {
	c.t.Helper()
	return servicetest.Command(c.t, time.Minute, func(cmd *exec.Cmd) { cmd.Env, cmd.Stdin = c.env(), strings.NewReader(input) }, c.p.path, args...)
}

// print runs a command that shows no secret, and keeps what it printed.
func (c *canaries) print(input string, args ...string) {
	c.t.Helper()
	c.add("the output of "+strings.Join(args, " "), []byte(c.orgops(input, args...)))
}

// env returns the environment of a command, which logs in as the founder.
func (c *canaries) env() []string {
	return append(c.p.env(), "ORGOPS_URL="+c.base, "ORGOPS_EMAIL="+c.Email, "ORGOPS_PASSWORD="+c.Password)
}

// commands runs the admin commands, listen and trigger while the service runs. It returns the receiver of listen.
func (c *canaries) commands() *receiver {
	c.t.Helper()
	c.print("", "admin", "company", "list")
	c.print("", "admin", "company", "show", "--company", c.ID)
	c.print("", "admin", "company", "export", "--company", c.ID)
	c.print("", "admin", "context", "rebuild", "--company", c.ID)
	c.print("", "admin", "parked", "list")
	c.print(c.plant("the operator's password")+"\n", "admin", "user", "add", "--company", c.ID, "--email", "ops@example.com", "--role", "operator", "--password-stdin")
	c.print(c.plant("the operator's next password")+"\n", "admin", "user", "password", "--email", "ops@example.com", "--password-stdin")
	var printed struct{ Password string }
	errtest.Must(c.t, json.Unmarshal([]byte(c.orgops("", "admin", "user", "password", "--email", "ops@example.com")), &printed))
	c.keep("the operator's generated password", printed.Password)

	secret := c.key("the signing secret of listen")
	r, log := echoReceiver(c.t, secret), &logtest.Log{}
	listen := exec.Command(c.p.path, "listen", "--interval", "100ms", "--secret", secret, "--forward-to", r.url, "--events", "memory.*")
	listen.Env, listen.Stdout, listen.Stderr = c.env(), log, log
	errtest.Must(c.t, listen.Start())
	c.t.Cleanup(func() { _ = listen.Process.Kill() }) // it may have ended
	eventually(c.t, "it relays", func() bool { return strings.Contains(log.String(), "relaying memory.* to "+r.url) })
	c.print("", "trigger", "memory.updated")
	eventually(c.t, "the event arrives", func() bool { return len(r.deliveries("memory.updated")) > 0 })
	errtest.Must(c.t, listen.Process.Signal(os.Interrupt))
	if err := listen.Wait(); err != nil {
		c.t.Errorf("listen ended with %v, want no error:\n%s", err, log.String())
	}
	c.add("the output of listen", []byte(log.String()))
	return r
}
