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

	"orgops/shared/freeport"
	"orgops/shared/logtest"
)

// build makes the real program, as a user gets it.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orgops")
	command(t, 5*time.Minute, nil, "go", "build", "-o", program, root+"/local")
	return program
}

// program is the real program on a data folder, started and killed as often as a test likes.
type program struct {
	client
	path, data string
	cmd        *exec.Cmd
	output     *logtest.Log
}

// newProgram has a folder of its own, and an address that was free a moment ago.
func newProgram(t *testing.T) *program {
	t.Helper()
	port, err := freeport.Find(t.Context())
	must(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p := &program{client: client{t: t, base: "http://" + addr}, path: build(t), data: filepath.Join(t.TempDir(), "data"), output: &logtest.Log{}}
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

// start returns when the program answers.
func (p *program) start() {
	p.t.Helper()
	cmd := exec.Command(p.path)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env(), p.output, p.output
	must(p.t, cmd.Start())
	p.cmd = cmd
	eventually(p.t, "the program serves", func() bool {
		a, err := p.send("GET", "/healthz", nil, nil)
		return err == nil && a.status == http.StatusOK
	})
}

// kill ends the program as a power cut would, as far as a process can: SIGKILL, no warning.
func (p *program) kill() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // killed: that is its error
	p.cmd = nil
}

// tenant makes a company with the admin command; its founder is not logged in.
func (p *program) tenant(name, email string) *tenant {
	p.t.Helper()
	var created struct{ CompanyID, Email, Password string }
	output := command(p.t, time.Minute, func(cmd *exec.Cmd) { cmd.Env = p.env() },
		p.path, "admin", "company", "create", "--name", name, "--email", email)
	must(p.t, json.Unmarshal([]byte(output), &created))
	return &tenant{client: p.client, ID: created.CompanyID, Email: created.Email, Password: created.Password}
}
