package acceptance_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

// mostMemory limits the memory of a program that strangers and one tenant press, in MiB. The program takes about 75 at rest.
const mostMemory = 200

// peak returns the most memory that the program has had, in MiB.
func (p *program) peak() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	errtest.Must(p.t, err)
	kilobytes, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)[1]))
	errtest.Must(p.t, err)
	return kilobytes >> 10
}

// TestProgram_Memory holds the memory of the real program within bounds while 500 strangers send headers of 1 MB, and 500 clients with one
// token bodies of 1 MiB of which the last byte never comes.
func TestProgram_Memory(t *testing.T) {
	p := newProgram(t)
	acme := p.tenant("Acme", "ada@example.com")
	p.start()
	acme.login()
	const all = 500
	for name, head := range map[string]string{
		"headers": "GET / HTTP/1.1\r\nHost: x\r\nX-Long: ",
		"bodies": fmt.Sprintf("POST /companies/%s/integrations/webhook-x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			acme.ID, acme.Token, 1<<20),
	} {
		text := []byte(head + strings.Repeat(" ", 1<<20-1))
		var sent sync.WaitGroup
		for range all {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
			errtest.Must(t, err)
			t.Cleanup(func() { conn.Close() })
			errtest.Must(t, conn.SetDeadline(time.Now().Add(patience)))
			sent.Go(func() { _, _ = io.Copy(conn, bytes.NewReader(text)) }) // a refusal ends it
		}
		sent.Wait()
		if got := p.peak(); got > mostMemory {
			t.Errorf("%s: the program has taken %d MiB, want at most %d", name, got, mostMemory)
		}
		t.Logf("%s: at most %d MiB", name, p.peak())
	}
	acme.do("GET", acme.at("/integrations"), nil).want(200)
}
