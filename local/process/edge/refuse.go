package edge

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Limits of refusals. Beyond maxRefusals at once, connections are closed without an answer.
const (
	maxRefusals   = 64
	refusalBudget = time.Second
	refusalAfter  = 2 // seconds, as in every other 503
)

// refuse answers 503 to a connection's first request, without reading it, and closes the connection.
func (c *Conns) refuse(accepted net.Conn) {
	if !c.startRefusal() {
		accepted.Close()
		return
	}
	go func() {
		defer c.endRefusal()
		defer accepted.Close()
		_ = accepted.SetDeadline(time.Now().Add(refusalBudget))
		body := []byte(`{"type":"/problems/unavailable","title":"Unavailable","status":503,"detail":"too many connections are open; try again"}`)
		if _, err := accepted.Write(answer("503 Service Unavailable", body, fmt.Sprintf("Retry-After: %d\r\n", refusalAfter))); err != nil {
			return
		}
		// A connection that is closed with unread bytes is reset, and the caller may lose the answer.
		if half, ok := accepted.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(accepted, 64<<10))
		}
	}()
}

func (c *Conns) startRefusal() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusing >= maxRefusals {
		return false
	}
	c.refusing++
	return true
}

func (c *Conns) endRefusal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing--
}

// plainEnd ends the header of the answers that net/http gives by itself, before any handler.
const plainEnd = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// problemFor returns the problem to send instead of an answer of net/http's own.
func problemFor(plain []byte) (problem []byte, ok bool) {
	if !bytes.HasPrefix(plain, []byte("HTTP/1.1 4")) {
		return nil, false
	}
	status, _, ok := bytes.Cut(plain[len("HTTP/1.1 "):], []byte(plainEnd))
	if !ok || bytes.ContainsAny(status, "\r\n") {
		return nil, false
	}
	switch status := string(status); {
	case status == "431 Request Header Fields Too Large":
		return answer(status, fmt.Appendf(nil, `{"type":"about:blank","title":"Request Header Fields Too Large","status":431,"detail":"the header is larger than %d bytes; send less, such as fewer cookies"}`, MaxHeader), ""), true
	case strings.HasPrefix(status, "400 Bad Request"): // a reason may follow
		return answer("400 Bad Request", []byte(`{"type":"/problems/malformed","title":"Malformed request","status":400,"detail":"this is not a valid HTTP request"}`), ""), true
	}
	return nil, false
}

func answer(status string, body []byte, headers string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/problem+json\r\n%sCache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, headers, len(body), body)
}
