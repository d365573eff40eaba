package blackbox_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
)

// relay runs the commands that a developer uses: listen brings the company's events to a receiver on this machine, trigger
// causes two. The session removes its endpoint when it ends.
func relay(j *journey) {
	j.login()
	r := j.receive("relayed", newSecret())
	printed := &logtest.Log{}
	listen := j.command("listen", "--forward-to", r.url, "--secret", r.secret, "--events", "memory.*", "--interval", "200ms")
	listen.Stdout, listen.Stderr = printed, printed
	errtest.Must(j.t, listen.Start())
	ended := make(chan error, 1)
	go func() { ended <- listen.Wait() }()
	j.t.Cleanup(func() { stop(j.t, listen.Process, ended) })
	err := pollRunning(j.t.Context(), j.target.every, ended, func() bool {
		return strings.Contains(printed.String(), "relaying memory.* to "+r.url)
	})
	if err != nil {
		j.t.Fatalf("listen: %v\n%s", err, printed.String())
	}
	if output, err := j.command("trigger", "memory.updated").CombinedOutput(); err != nil {
		j.t.Fatalf("trigger: %v\n%s", err, output)
	}
	j.received("both events are relayed", r, 2, false)
	errtest.Must(j.t, listen.Process.Signal(os.Interrupt))
	j.await("its endpoint is gone", get(j.at("/integrations")), func(a answer) bool {
		return !strings.Contains(string(a.body), "webhook-listen-")
	})
}

// command returns a command of the program for the journey's company. It ends with the test.
func (j *journey) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	j.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, j.target.program, append(args, "--api", j.target.url, "--email", j.email)...)
	cmd.Env = append(os.Environ(), "ORGOPS_PASSWORD="+password)
	cmd.WaitDelay = time.Second
	return cmd
}
