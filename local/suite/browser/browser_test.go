package browser_test

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/local/suite/cloud"
	"orgops/local/suite/servicetest"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/webhook/standardwebhooks"
)

var (
	pictures = flag.String("pictures", "", "also write a picture of every page into this folder")
	deployed = flag.Bool("deployed", false, "deploy the stack to an AWS emulator on this machine, and open its console")
)

// within bounds a script. On a laptop, one takes half a minute.
const within = 10 * time.Minute

// receive starts an endpoint that refuses what the secret does not sign, and returns its address. A PUT to /broken makes it answer
// 500, and one to another path ends that.
func receive(t *testing.T, secret string) string {
	t.Helper()
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			broken.Store(r.URL.Path == "/broken")
			return
		}
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if _, err := standardwebhooks.Verify([]string{secret}, r.Header, body, time.Now()); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// unpacked is done once the browser of the npm package is unpacked.
var unpacked sync.Once

// run runs a script of testdata with the npm packages and prints what it prints.
func run(t *testing.T, script string, env ...string) {
	t.Helper()
	unpacked.Do(func() { node(t, "unpack.mjs") })
	node(t, script, env...)
}

func node(t *testing.T, script string, env ...string) {
	t.Helper()
	modules := filepath.Dir(servicetest.Installed(t, ".tools/browser/node_modules"))
	unpacking := filepath.Join(modules, "node_modules", ".chromium") // the next version gets another one
	errtest.Must(t, os.MkdirAll(unpacking, 0o700))
	folder := t.TempDir()
	errtest.Must(t, os.CopyFS(folder, os.DirFS("testdata")))
	errtest.Must(t, os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(folder, "node_modules")))
	t.Log(servicetest.Command(t, within, func(cmd *exec.Cmd) {
		cmd.Dir = folder
		cmd.Env = append(append(os.Environ(), "TMPDIR="+unpacking), env...)
	}, "node", script))
}

// endpoint starts an endpoint and returns what a script needs to know of it.
func endpoint(t *testing.T) (env []string, secret string) {
	t.Helper()
	secret, err := standardwebhooks.GenerateSecret(rand.Reader)
	errtest.Must(t, err)
	return []string{"RECEIVER=" + receive(t, secret), "SECRET=" + secret}, secret
}

// begin starts the service with a company, and returns what a script needs to know of them.
func begin(t *testing.T) (env []string, s *servicetest.Service, company string) {
	t.Helper()
	s = servicetest.Start(t)
	f := s.Found("Acme")
	return []string{"BASE=" + s.URL, "COMPANY=" + f.CompanyID, "EMAIL=" + f.Email, "PASSWORD=" + f.Password}, s, f.CompanyID
}

// verified fails the test unless the receiver of the copied line has verified deliveries, and refused the certification's bad ones.
func verified(t *testing.T, printed *logtest.Log) {
	t.Helper()
	for _, want := range []string{"signature verified -> 204", "REFUSED: ", `"type": "memory.created"`, "Printer on fire"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the receiver of the copied line printed no %q:\n%s", want, printed.String())
		}
	}
}

// TestConsole is a founder's first morning in a real browser, by pointer and by keyboard. It checks every page with axe-core
// in both themes, wide and narrow, and that the page breaks no rule of its policy.
func TestConsole(t *testing.T) {
	t.Parallel()
	env, _, _ := begin(t)
	lines, printed := terminal(t)
	env = append(env, lines...)
	if *pictures != "" {
		env = append(env, "FULL=1")
	}
	run(t, "journey.mjs", env...)
	verified(t, printed)
	if *pictures != "" {
		run(t, "pictures.mjs", append(env, "PICTURES="+*pictures)...)
	}
}

// TestConsole_Keyboard connects, certifies, recovers, delivers, tries a paused endpoint, reads, approves, replays, operates and removes without a pointer.
func TestConsole_Keyboard(t *testing.T) {
	t.Parallel()
	env, s, company := begin(t)
	receiver, secret := endpoint(t)
	s.Log.KeepOut(secret)
	run(t, "keyboard.mjs", append(append(env, receiver...), graveyard(t, s, company))...)
}

// TestConsole_Stale edits what another person edits at the same time, and creates what exists already.
func TestConsole_Stale(t *testing.T) {
	t.Parallel()
	env, _, _ := begin(t)
	run(t, "stale.mjs", env...)
}

// TestConsole_Work connects what is unusual, tries a mapping, finds a memory, looks at the deliveries of all endpoints, and goes back.
func TestConsole_Work(t *testing.T) {
	t.Parallel()
	env, _, _ := begin(t)
	run(t, "work.mjs", env...)
}

// TestConsole_SSO signs a person in through the company's identity provider, from a deep link and again when the token has ended.
func TestConsole_SSO(t *testing.T) {
	t.Parallel()
	s, p := servicetest.StartAtItsAddress(t), ssotest.NewProvider(t)
	f := s.Found("Acme")
	c := store.For(s.Process.Services.Store, f.CompanyID)
	acme, version, err := company.Get(t.Context(), c)
	errtest.Must(t, err)
	acme.Plan = sso.Plan
	errtest.Must(t, c.Commit(t.Context(), c.Replace(company.Key, company.Entity, version, acme)))
	config, err := json.Marshal(p.Config())
	errtest.Must(t, err)
	run(t, "sso.mjs", "BASE="+s.URL, "COMPANY="+f.CompanyID, "EMAIL="+f.Email, "PASSWORD="+f.Password, "PROVIDER="+p.URL, "CONFIG="+string(config))
}

// TestConsole_Factors enrols a second factor that a company requires, logs in with it and changes company.
func TestConsole_Factors(t *testing.T) {
	t.Parallel()
	env, s, _ := begin(t)
	other, err := company.Provision(t.Context(), s.Process.Services.Store, password.New(), company.New{Name: "Beta", Email: strings.TrimPrefix(env[2], "EMAIL=")}, time.Now())
	errtest.Must(t, err)
	errtest.Must(t, company.RequireSecondFactor(t.Context(), store.For(s.Process.Services.Store, other.CompanyID), true))
	run(t, "factors.mjs", append(env, "OTHER="+other.CompanyID)...)
}

// TestConsole_Passkey enrols a passkey, logs in with it and removes it. Browsers know a service on this machine as localhost.
func TestConsole_Passkey(t *testing.T) {
	t.Parallel()
	s := servicetest.StartAtItsAddress(t)
	f := s.Found("Acme")
	run(t, "passkey.mjs", "BASE="+strings.Replace(s.URL, "127.0.0.1", "localhost", 1), "COMPANY="+f.CompanyID, "EMAIL="+f.Email, "PASSWORD="+f.Password)
}

// TestConsole_Deployed does both at the deployed stack, each for a company of its own. The first paint includes the start of
// the function.
func TestConsole_Deployed(t *testing.T) {
	t.Parallel()
	if !*deployed {
		t.Skip("takes minutes; make console-deployed runs it")
	}
	log := &logtest.Log{}
	stack, err := cloud.Start(t.Context(), cloud.Options{Log: log})
	if err != nil {
		t.Fatalf("deploy: %v\n%s", err, log.String())
	}
	defer func() { errtest.Must(t, stack.Close()) }()
	for _, script := range []string{"journey", "keyboard"} {
		email, password := script+"@example.com", "correct horse battery staple"
		made, err := stack.CreateCompany(t.Context(), "Acme", email, password)
		errtest.Must(t, err)
		receiver, _ := endpoint(t)
		lines, printed := terminal(t)
		run(t, script+".mjs", append(append(receiver, lines...), "BASE="+stack.URL, "COMPANY="+made.CompanyID, "EMAIL="+email, "PASSWORD="+password, "PAINTED=2500")...)
		if script == "journey" {
			verified(t, printed)
		}
	}
}

// TestModules runs the tests of the modules that need no page.
func TestModules(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "Node")
	folder, err := filepath.Abs(filepath.Join(servicetest.Root, "functions/console/web"))
	errtest.Must(t, err)
	servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) { cmd.Dir = folder }, "node", "--test", "test/")
}
