package listen_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"orgops/local/command/apiclient"
	"orgops/local/command/listen"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// pages blocks each write until the test reads it.
type pages chan string

func (p pages) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}

// TestRun_UnderWay stops the receiver with a delivery in flight, which is still printed and answered.
func TestRun_UnderWay(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	printed, ended := make(pages), make(chan error, 1)
	go func() {
		ended <- listen.Run(ctx, []string{"--addr", "127.0.0.1:0"}, apiclient.Terminal{Getenv: func(string) string { return "" }}, printed)
	}()
	addr := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(<-printed)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	line, err := in.ReadString('\n')
	errtest.Must(t, err)
	if !strings.Contains(line, "100") { // the server now waits for the body
		t.Fatalf("answered %q, want 100 Continue", line)
	}
	stop()
	for { // until new connections are refused
		another, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		another.Close()
	}
	fmt.Fprint(conn, "{}")
	select {
	case err := <-ended:
		t.Fatalf("it ended with a delivery in flight: %v", err)
	case text := <-printed:
		if !strings.Contains(text, "not verified") {
			t.Errorf("printed %q, want a text with %q", text, "not verified")
		}
	}
	answer, err := io.ReadAll(in)
	errtest.Must(t, err)
	if want := "HTTP/1.1 204"; !strings.Contains(string(answer), want) {
		t.Errorf("answered %q, want %q in it", answer, want)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServe_Unused stops the receiver while a sender holds an unused connection, which must not delay it.
func TestServe_Unused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- listen.Serve(ctx, webtest.Listener(theirs), http.NotFoundHandler()) }()
		synctest.Wait()
		begun := time.Now()
		stop()
		errtest.Must(t, <-ended)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("ended after %v, want %v at most", took, time.Second)
		}
		_, _ = io.Copy(io.Discard, ours) // until the connection closes
	})
}
