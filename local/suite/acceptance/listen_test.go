package acceptance_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
)

// command returns the shell command of a block of the guide to listen, with the addresses of this test.
func (tn *tenant) command(block string, places ...string) *exec.Cmd {
	tn.t.Helper()
	text, err := os.ReadFile("../../command/relay/README.md")
	errtest.Must(tn.t, err)
	found := regexp.MustCompile("(?s)```sh " + block + "\n(.*?)```").FindStringSubmatch(string(text))
	if found == nil {
		tn.t.Fatalf("the guide has no block %q", block)
	}
	script := strings.NewReplacer(append(places, "http://127.0.0.1:4000", tn.base, "founder@example.com", tn.Email)...).Replace(found[1])
	return exec.Command("bash", "-e", "-c", script)
}

// TestProgram_Listen runs the commands of the guide with the real program: listen in one terminal, trigger in another, and
// Ctrl-C. Then it closes the terminal of another session.
func TestProgram_Listen(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "bash")
	p := newProgram(t)
	p.start()
	tn := p.tenant("Listen", "listen@example.com")
	tn.login()
	env := append(os.Environ(), "PATH="+filepath.Dir(p.path)+":"+os.Getenv("PATH"), "ORGOPS_PASSWORD="+tn.Password, "ORGOPS_URL="+p.base, "ORGOPS_EMAIL="+tn.Email)
	secret := newSecret(t)
	r := receive(t, secret)
	session := func() (*exec.Cmd, *logtest.Log) {
		listen, printed := tn.command("listen", "orgops listen", "exec orgops listen --interval 100ms --secret "+secret, "http://127.0.0.1:3000/hooks", r.url), &logtest.Log{}
		listen.Env, listen.Stdout, listen.Stderr = env, printed, printed
		errtest.Must(t, listen.Start())
		t.Cleanup(func() { _ = listen.Process.Kill() }) // it may have ended
		eventually(t, "it relays", func() bool { return strings.Contains(printed.String(), "relaying memory.*, goal.updated to "+r.url) })
		return listen, printed
	}
	end := func(listen *exec.Cmd, printed *logtest.Log, sent os.Signal) {
		errtest.Must(t, listen.Process.Signal(sent))
		if err := listen.Wait(); err != nil {
			t.Errorf("listen ended after %v with %v, want no error:\n%s", sent, err, printed.String())
		}
		if answer := string(tn.do("GET", tn.at("/integrations"), nil).want(200).body); strings.Contains(answer, "webhook-listen-") {
			t.Errorf("integrations after %v = %s, want none of a session that has ended", sent, answer)
		}
	}
	listen, printed := session()

	trigger := tn.command("trigger")
	output := servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) { cmd.Env = env }, trigger.Args[0], trigger.Args[1:]...)
	for _, want := range []string{"integration.sync.completed", "memory.upsert: created ", "memory.upsert: updated "} {
		if !strings.Contains(output, want) {
			t.Errorf("trigger printed %q, want %q in it", output, want)
		}
	}
	eventually(t, "both events arrive", func() bool { return len(r.deliveries("memory.created", "memory.updated")) == 2 })
	end(listen, printed, os.Interrupt)
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // if this process ignores the signal, as under nohup, the program would inherit that
	defer signal.Stop(heard)
	closed, last := session()
	end(closed, last, syscall.SIGHUP) // its terminal was closed
	for name, text := range map[string]string{"the password": tn.Password, "a token": "eyJ"} {
		if strings.Contains(printed.String()+output, text) {
			t.Errorf("the commands print %s", name)
		}
	}
}
