package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// service runs the binary under test on a new data folder.
type service struct {
	settings settings
	folder   string
	binary   string
	addr     string
	base     string
	process  *exec.Cmd
}

// start builds the binary if none is given and starts it on a new folder.
func start(ctx context.Context, s settings) (*service, error) {
	folder, err := s.folder, os.MkdirAll(s.folder, 0o700)
	if folder == "" {
		folder, err = os.MkdirTemp("", "orgops-bench-")
	}
	if err != nil {
		return nil, err
	}
	svc := &service{settings: s, folder: folder, binary: s.binary}
	if svc.binary == "" {
		svc.binary = filepath.Join(folder, "orgops")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", svc.binary, "./local").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	svc.addr = l.Addr().String()
	svc.base = "http://" + svc.addr
	if err := l.Close(); err != nil {
		return nil, err
	}
	return svc, svc.launch(ctx)
}

func (s *service) env() []string {
	env := append(os.Environ(), "ORGOPS_DATA="+filepath.Join(s.folder, "data"), "ORGOPS_ADDR="+s.addr, "ORGOPS_LOG=warn")
	if s.settings.roots != "" {
		env = append(env, "SSL_CERT_FILE="+s.settings.roots)
	}
	if s.settings.profile != "" {
		env = append(env, "ORGOPS_CPUPROFILE="+s.settings.profile)
	}
	return env
}

// launch starts the process and waits until it answers.
func (s *service) launch(ctx context.Context) error {
	s.process = exec.CommandContext(ctx, s.binary, s.settings.args...)
	s.process.Env, s.process.Stderr = s.env(), os.Stderr
	if err := s.process.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(time.Minute) // of millions of items some are read first
	for time.Now().Before(deadline) {
		if resp, err := http.Get(s.base + "/healthz"); err == nil {
			return resp.Body.Close()
		}
		time.Sleep(2 * time.Millisecond)
	}
	return errors.New("the service did not answer within a minute")
}

// halt stops the process with SIGTERM.
func (s *service) halt() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
}

// stop halts the process and removes the folder, unless the caller has named it.
func (s *service) stop() {
	s.halt()
	if s.settings.folder == "" {
		_ = os.RemoveAll(s.folder)
	}
}

// admin runs an operator's command and returns its output.
func (s *service) admin(ctx context.Context, input string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.binary, append([]string{"admin"}, args...)...)
	cmd.Env, cmd.Stdin, cmd.Stderr = s.env(), strings.NewReader(input), os.Stderr
	return cmd.Output()
}

// tenant holds a company with a certified webhook endpoint.
type tenant struct {
	company, email, token, path string
}

// createTenants creates companies, each with its own webhook path under its url, and certifies their endpoints.
func (s *service) createTenants(ctx context.Context, n int, url func(i int) string) ([]tenant, error) {
	all := make([]tenant, n)
	for i := range all {
		t, err := s.tenant(ctx, i, url(i))
		if err != nil {
			return nil, fmt.Errorf("tenant %d: %w", i, err)
		}
		all[i] = t
	}
	return all, nil
}

const benchPassword = "a password for the bench"

func (s *service) tenant(ctx context.Context, i int, url string) (tenant, error) {
	email := fmt.Sprintf("founder%d-%d@example.com", i, time.Now().UnixNano())
	out, err := s.admin(ctx, benchPassword+"\n", "company", "create", "--name", fmt.Sprintf("Bench %d", i), "--email", email, "--plan", cmp.Or(s.settings.plan, "free"), "--password-stdin")
	if err != nil {
		return tenant{}, err
	}
	var made struct{ CompanyID string }
	if err := json.Unmarshal(out, &made); err != nil {
		return tenant{}, err
	}
	t := tenant{company: made.CompanyID, email: email, path: fmt.Sprintf("/%d", i)}
	if err := s.login(ctx, &t); err != nil {
		return tenant{}, err
	}
	if s.settings.apart {
		if err := s.connect(ctx, t, "webhook", url, "goal.updated"); err != nil {
			return tenant{}, err
		}
		return t, s.connect(ctx, t, endpoint, url, "memory.*")
	}
	return t, s.connect(ctx, t, "webhook", url, "memory.created")
}

func (s *service) login(ctx context.Context, t *tenant) error {
	var login struct {
		AccessToken string `json:"access_token"`
	}
	err := s.post(ctx, "/auth/login", "", map[string]any{"email": t.email, "password": benchPassword}, &login)
	t.token = login.AccessToken
	return err
}

// endpoint names the integration that receives deliveries if settings.apart is set.
const endpoint = "webhook-out"

// connect configures and certifies a webhook integration.
func (s *service) connect(ctx context.Context, t tenant, provider, url, event string) error {
	path := "/companies/" + t.company + "/integrations/" + provider
	config := map[string]any{"url": url + t.path, "events": []string{event}, "signingSecret": secret, "ordered": s.settings.ordered}
	var configured struct{}
	if err := s.post(ctx, path, t.token, config, &configured); err != nil {
		return err
	}
	var report struct{ Passed bool }
	if err := s.post(ctx, path+"/certification", t.token, nil, &report); err != nil {
		return err
	}
	if !report.Passed {
		return errors.New("the receiver was not certified")
	}
	return nil
}

func (s *service) post(ctx context.Context, path, token string, body, into any) error {
	return s.call(ctx, http.MethodPost, path, token, body, into)
}

// call sends a request with headers, each a name and a value, and decodes the answer unless into is nil.
func (s *service) call(ctx context.Context, method, path, token string, body, into any, headers ...string) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, payload)
	if err != nil {
		return err
	}
	for n := 0; n+1 < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

// cpu returns the CPU time that the process has used, in seconds; 0 except on Linux.
func (s *service) cpu() float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // USER_HZ
}

// memory returns the process's peak resident memory in MiB; 0 except on Linux.
func (s *service) memory() float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "VmHWM:" {
			continue
		}
		kib, _ := strconv.ParseFloat(fields[1], 64)
		return kib / 1024
	}
	return 0
}
