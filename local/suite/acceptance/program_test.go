package acceptance_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/base/freeport"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/programtest"
)

// program runs the real program on a data folder; a test may start and kill it many times.
type program struct {
	client
	path, data string
	cmd        *exec.Cmd
	output     *logtest.Log
}

// newProgram builds the program and gives it a new folder and a free address.
func newProgram(t *testing.T) *program {
	t.Helper()
	port, err := freeport.Find(t.Context())
	errtest.Must(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p := &program{client: client{t: t, base: "http://" + addr}, path: programtest.Orgops(t), data: filepath.Join(t.TempDir(), "data"), output: &logtest.Log{}}
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill()
		}
		if t.Failed() {
			t.Logf("the program wrote:\n%s", p.output.String())
		}
	})
	return p
}

func (p *program) env() []string {
	return append(os.Environ(), "ORGOPS_DATA="+p.data, "ORGOPS_ADDR="+p.base[len("http://"):])
}

// start starts the program and waits until it answers.
func (p *program) start() {
	p.t.Helper()
	cmd := exec.Command(p.path)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env(), p.output, p.output
	errtest.Must(p.t, cmd.Start())
	p.cmd = cmd
	eventually(p.t, "the program serves", func() bool {
		a, err := p.send("GET", "/healthz", nil, nil)
		return err == nil && a.status == http.StatusOK
	})
}

// kill kills the program with SIGKILL, which is as close to a power cut as a process can come.
func (p *program) kill() {
	p.t.Helper()
	errtest.Must(p.t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // returns the error of the kill
	p.cmd = nil
}

// tenant creates a company with the admin command, without logging its founder in.
func (p *program) tenant(name, email string) *tenant {
	p.t.Helper()
	var created struct{ CompanyID, Email, Password string }
	output := servicetest.Command(p.t, time.Minute, func(cmd *exec.Cmd) { cmd.Env = p.env() },
		p.path, "admin", "company", "create", "--name", name, "--email", email)
	errtest.Must(p.t, json.Unmarshal([]byte(output), &created))
	return &tenant{client: p.client, ID: created.CompanyID, Email: created.Email, Password: created.Password}
}
