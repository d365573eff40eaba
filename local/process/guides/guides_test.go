package guides_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"orgops/local/command/apiclient"
	"orgops/local/command/trigger"
	"orgops/local/suite/servicetest"
	"orgops/shared/base/freeport"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/programtest"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	errtest.Must(t, err)
	return string(text)
}

// blocks returns the code of a page's blocks with a label, such as "sh run".
func blocks(t *testing.T, page, label string) []string {
	t.Helper()
	found := []string{}
	for _, b := range regexp.MustCompile("(?s)```"+label+"\n(.*?)```").FindAllStringSubmatch(readFile(t, page), -1) {
		found = append(found, b[1])
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block %q", page, label)
	}
	return found
}

// TestCommands runs the commands of the guides one after the other, and looks for the output that the pages show.
func TestCommands(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "bash, curl, jq and Python")
	s := servicetest.StartAtItsAddress(t)
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[{"id":"1","title":"One","content_text":"one"}]}`)
	}))
	defer feed.Close()
	login := blocks(t, "connect.md", "sh run")[0]
	programs := filepath.Dir(programtest.Orgops(t))
	for _, tt := range []struct {
		name, page, before string
		times              int // how often the commands run
	}{
		{"Connect", "connect.md", "", 1},
		{"Policy", "policy.md", login, 2},
		{"Receive", "receive.md", login, 1},
		{"Agent", "agent.md", "", 1},
		{"Told", "told.md", "", 1},
		{"Factors", "factors.md", "", 1},
		{"Mapping", servicetest.Root + "/shared/provider/mapping/README.md", login, 1},
	} {
		page, f, folder := tt.page, s.Found(tt.name), t.TempDir()
		save(t, folder, receivers()...)
		errtest.Must(t, os.WriteFile(filepath.Join(folder, "agent.py"), []byte(blocks(t, "agent.md", "python agent")[0]), 0o600))
		port, err := freeport.Find(t.Context())
		errtest.Must(t, err)
		script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + tt.before +
			strings.Repeat(strings.Join(blocks(t, page, "sh run"), "\n"), tt.times)
		output := servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) {
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "BASE="+s.URL, "EMAIL="+f.Email, "PASSWORD="+f.Password, "FEED="+feed.URL,
				"PORT="+strconv.Itoa(port), "PATH="+programs+":"+os.Getenv("PATH"))
			cmd.Stdin = strings.NewReader(script)
		}, "bash", "-s")
		rest := output
		for _, block := range slices.Repeat(blocks(t, page, "output"), tt.times) {
			end := 0 // a program in the background may print its line before or after
			for want := range strings.Lines(block) {
				want = strings.TrimSpace(want)
				at := strings.Index(rest, want)
				if at < 0 {
					t.Errorf("%s: the output lacks %s", page, want)
					continue
				}
				end = max(end, at+len(want))
			}
			rest = rest[end:] // the next block follows
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s", page, output)
		}
	}
}

// TestCommands_Ended asks the guide's function about syncs in every state.
func TestCommands_Ended(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "bash")
	function := regexp.MustCompile(`(?m)^ended\(\).*$`).FindString(strings.Join(blocks(t, "connect.md", "sh run"), "\n"))
	for state, want := range map[string]string{
		"requested": "goes on\n", "running": "goes on\n",
		"succeeded": `{"state":"succeeded"}` + "\n", "failed": `{"state":"failed"}` + "\n", "cancelled": `{"state":"cancelled"}` + "\n",
	} {
		script := `api() { echo '{"state":"` + state + `"}'; }` + "\n" + function + "\nended 1 || echo goes on"
		if got := servicetest.Command(t, time.Minute, nil, "bash", "-c", script); got != want {
			t.Errorf("%s: ended printed %q, want %q", state, got, want)
		}
	}
}

// TestAgent counts the commands that let an agent in. Each makes one request.
func TestAgent(t *testing.T) {
	t.Parallel()
	steps, _, _ := strings.Cut(readFile(t, "agent.md"), "## An agent's loop")
	commands := regexp.MustCompile("(?s)## (\\d+)[^\n]*\n.*?```sh run\n(.*?)```").FindAllStringSubmatch(steps, -1)
	if n, all := len(commands), strings.Count(steps, "```sh run"); n != all {
		t.Errorf("%d numbered commands, want those of all %d steps", n, all)
	}
	if n := len(commands); n > 10 {
		t.Errorf("%d commands, want at most 10", n)
	}
	request := regexp.MustCompile(`(?m)^(?:[A-Z]+=\$\()?(?:curl|api|note)\b[^(]`)
	for i, command := range commands {
		if command[1] != strconv.Itoa(i+1) {
			t.Errorf("command %d has the number %s", i+1, command[1])
		}
		if n := len(request.FindAllString(command[2], -1)); n != 1 {
			t.Errorf("command %s makes %d requests, want 1", command[1], n)
		}
	}
}

// TestPolicy compares the policy that the guide shows with the policy that its commands store.
func TestPolicy(t *testing.T) {
	t.Parallel()
	shown := strings.Join(strings.Fields(blocks(t, "policy.md", "cedar closing")[0]), " ")
	if stored := strings.ReplaceAll(blocks(t, "policy.md", "sh run")[0], `\"`, `"`); !strings.Contains(stored, shown) {
		t.Errorf("the commands store %s, want %s in it", stored, shown)
	}
	for _, label := range []string{"cedar closing", "cedar kept"} {
		text := blocks(t, "policy.md", label)[0]
		problems, err := policycheck.New().Check("", []policy.Statement{{ID: "shown", Mode: policy.Enforce, Text: text}})
		errtest.Must(t, err)
		if len(problems) > 0 {
			t.Errorf("%s: problems %v, want none", label, problems)
		}
	}
}

// receiver is a sample and how it is started in a folder.
type receiver struct {
	language, label, file string
	build                 []string
	start                 []string
}

func receivers() []receiver {
	return []receiver{
		{"Go", "go receiver", "main.go", []string{"go", "build", "-o", "receiver", "main.go"}, []string{"./receiver"}},
		{"JavaScript", "js receiver", "receiver.mjs", nil, []string{"node", "receiver.mjs"}},
		{"Python", "python receiver", "receiver.py", nil, []string{"python3", "receiver.py"}},
	}
}

// TestReceivers starts every sample, certifies it, which sends it bad signatures and old timestamps, and delivers an event.
func TestReceivers(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "Node and Python")
	s := servicetest.Start(t)
	for _, r := range receivers() {
		founder := s.Found(r.language)
		t.Run(r.language, func(t *testing.T) {
			api, err := apiclient.Login(t.Context(), apiclient.Account{Base: s.URL, Email: founder.Email, Password: founder.Password})
			errtest.Must(t, err)
			var made struct{ SigningSecret string }
			port, err := freeport.Find(t.Context())
			errtest.Must(t, err)
			addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			errtest.Must(t, api.Do(t.Context(), "POST", "/integrations/webhook", map[string]any{"url": "http://" + addr + "/", "events": []string{"memory.*"}}, &made))
			s.Log.KeepOut(made.SigningSecret)
			out := r.run(t, addr, made.SigningSecret)
			var report struct {
				Passed bool
				Checks []struct{ ID, Status, Reason string }
			}
			errtest.Must(t, api.Do(t.Context(), "POST", "/integrations/webhook/certification", nil, &report))
			if !report.Passed {
				t.Fatalf("the certification of the sample did not pass: %+v\n%s", report.Checks, out)
			}
			env := map[string]string{"ORGOPS_URL": s.URL, "ORGOPS_EMAIL": founder.Email, "ORGOPS_PASSWORD": founder.Password}
			terminal := apiclient.Terminal{Getenv: func(name string) string { return env[name] }}
			errtest.Must(t, trigger.Run(t.Context(), []string{"memory.created"}, terminal, out))
			until(t, func() bool { return strings.Contains(out.String(), "verified memory.created ") }, out)
		})
	}
}

// save writes samples to a folder, each under the name that the guide gives it.
func save(t *testing.T, folder string, all ...receiver) {
	t.Helper()
	guide := strings.Join(strings.Fields(readFile(t, "receive.md")), " ")
	for _, r := range all {
		if want := "the " + r.language + " sample as `" + r.file + "`"; !strings.Contains(guide, want) {
			t.Errorf("receive.md lacks %q", want)
		}
		errtest.Must(t, os.WriteFile(filepath.Join(folder, r.file), []byte(blocks(t, "receive.md", r.label)[0]), 0o600))
	}
}

// run builds and starts a sample, and waits until it listens. The end of the test ends it.
func (r receiver) run(t *testing.T, addr, secret string) *logtest.Log {
	t.Helper()
	folder, out := t.TempDir(), &logtest.Log{}
	save(t, folder, r)
	if r.build != nil {
		servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) { cmd.Dir = folder }, r.build[0], r.build[1:]...)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, r.start[0], r.start[1:]...)
	_, port, err := net.SplitHostPort(addr)
	errtest.Must(t, err)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "SECRET="+secret, "PORT="+port)
	cmd.Stdout, cmd.Stderr = out, out
	errtest.Must(t, cmd.Start())
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
	})
	until(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, out)
	return out
}

// until waits for a condition, for half a minute at most.
func until(t *testing.T, ok func() bool, out *logtest.Log) {
	t.Helper()
	deadline, again := time.NewTimer(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer deadline.Stop()
	defer again.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not met within 30 s; printed:\n%s", out)
		case <-again.C:
		}
	}
}
