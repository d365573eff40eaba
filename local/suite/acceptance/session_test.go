package acceptance_test

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// listenerAddr names the receiver's address in the printed session.
const listenerAddr = "127.0.0.1:4001"

// TestProgram_Session runs the session that the first start prints, as printed.
func TestProgram_Session(t *testing.T) {
	servicetest.Full(t, "bash and curl")
	l, err := net.Listen("tcp", listenerAddr)
	if err != nil {
		t.Fatalf("the printed session needs %s for its receiver, but the address is in use: %v", listenerAddr, err)
	}
	errtest.Must(t, l.Close())
	p := newProgram(t)
	p.start()
	eventually(t, "a session is printed", func() bool { return strings.Contains(p.output.String(), "kill $LISTENER") })
	session := regexp.MustCompile(`(?s)#.*?kill \$LISTENER`).FindString(p.output.String())
	if session == "" {
		t.Fatalf("no session is printed:\n%s", p.output.String())
	}
	session += "\n"
	secret := regexp.MustCompile(`password +(\S+)`).FindStringSubmatch(session)
	if secret == nil {
		t.Fatalf("no password is printed:\n%s", session)
	}
	output := servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) {
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "ORGOPS_DATA=", "ORGOPS_ADDR=")
		cmd.Stdin = strings.NewReader(session)
	}, "bash", "-s")
	t.Logf("the session printed:\n%s", output)

	for _, want := range []string{
		`"state":"certified"`, `"verdict":"permitted"`, `"outcome":"created"`, "signature verified -> 204", "REFUSED",
		`"memory.created"`, "Printer on fire", `"contextVersion"`, `"checks"`, `"headline"`, `"sections"`,
	} {
		if !strings.Contains(strings.ReplaceAll(output, `": "`, `":"`), want) {
			t.Errorf("the session's output lacks %s", want)
		}
	}
	if n := strings.Count(output, `"state":"certified"`); n < 2 {
		t.Errorf("%d certifications, want at least 2, the webhook's and GitHub's", n)
	}
	for _, unwanted := range []string{`/problems/`, "command not found", "curl: ", "syntax error"} {
		if strings.Contains(output, unwanted) {
			t.Errorf("the session's output has %s", unwanted)
		}
	}
	log := strings.Replace(p.output.String(), session, "", 1)
	for name, text := range map[string]string{"the password": secret[1], "a token": "eyJ"} {
		if strings.Contains(log, text) {
			t.Errorf("the log holds %s", name)
		}
	}
}
