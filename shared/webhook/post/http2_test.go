package post_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
)

// The frames of HTTP/2 that the tests use (RFC 9113 §6), their flags and error codes.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway, frameContinuation = 0, 1, 3, 4, 6, 7, 9

	endStream, endHeaders, ack = 1, 4, 1

	noError, protocolError, internalError, refusedStream, enhanceYourCalm = 0, 1, 2, 7, 11
)

// peer is the receiver's side of a connection of HTTP/2.
type peer struct {
	net.Conn
	stream uint32 // of the request that is answered
	number int    // of that request, from 1, over all connections
}

func (p peer) frame(kind, flags byte, stream uint32, payload []byte) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	_, _ = p.Write(slices.Concat(head, []byte{flags}, binary.BigEndian.AppendUint32(nil, stream), payload))
}

func (p peer) reset(code uint32) {
	p.frame(frameReset, 0, p.stream, binary.BigEndian.AppendUint32(nil, code))
}

// leave sends GOAWAY. The debug data is what no attempt may show.
func (p peer) leave(last, code uint32) {
	p.frame(frameGoAway, 0, 0, append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code), "debug hunter2"...))
}

// status returns the fields of a status with more fields (RFC 7541 §6.2.2: literals without indexing).
func status(code string, fields ...string) []byte {
	out := literal(":status", code)
	for n := 0; n < len(fields); n += 2 {
		out = append(out, literal(fields[n], fields[n+1])...)
	}
	return out
}

func literal(name, value string) []byte {
	out := append([]byte{0, byte(len(name))}, name...)
	if n := len(value); n < 127 {
		out = append(out, byte(n))
	} else {
		out = append(out, 127)
		for n -= 127; n >= 128; n >>= 7 {
			out = append(out, byte(n&127|128))
		}
		out = append(out, byte(n))
	}
	return append(out, value...)
}

func (p peer) answer(flags byte, fields []byte) {
	p.frame(frameHeaders, flags|endHeaders, p.stream, fields)
}

func (p peer) data(flags byte, text string) { p.frame(frameData, flags, p.stream, []byte(text)) }

// receiver2 speaks HTTP/2 on a port of its own, and counts what it got.
type receiver2 struct {
	url    string
	client *outbound.Client

	mu                    sync.Mutex
	connections, requests int
}

// speak starts a receiver that answers each whole request as told. settings is the payload of its SETTINGS frame.
func speak(t *testing.T, answer func(p peer), settings ...byte) *receiver2 {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	certified.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(certified.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	errtest.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	r := &receiver2{url: "https://" + l.Addr().String(), client: outbound.New(outbound.Options{AllowLoopback: true, RootCAs: authorities})}
	t.Cleanup(r.client.CloseIdle)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go r.serve(c, settings, answer)
		}
	}()
	return r
}

func (r *receiver2) serve(c net.Conn, settings []byte, answer func(p peer)) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	r.mu.Lock()
	r.connections++
	r.mu.Unlock()
	p := peer{Conn: c}
	p.frame(frameSettings, 0, 0, settings)
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, payload); err != nil {
			return
		}
		kind, flags := head[3], head[4]
		switch {
		case kind == frameSettings && flags&ack == 0:
			p.frame(frameSettings, ack, 0, nil)
		case kind == framePing && flags&ack == 0:
			p.frame(framePing, ack, 0, payload)
		case (kind == frameHeaders || kind == frameData) && flags&endStream != 0:
			r.mu.Lock()
			r.requests++
			p.stream, p.number = binary.BigEndian.Uint32(head[5:]), r.requests
			r.mu.Unlock()
			answer(p)
		}
	}
}

// got returns how many connections and whole requests the receiver has got.
func (r *receiver2) got() (connections, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.connections, r.requests
}

func (r *receiver2) send(t *testing.T, body string, timeout time.Duration) post.Result {
	t.Helper()
	return post.Send(t.Context(), r.client, endpoint(t, r.url), post.Message{ID: messageID, Body: []byte(body), Timeout: timeout}, time.Now)
}

func ok(p peer) { p.answer(endStream, status("204")) }

// first lets a receiver fail the first request, and answer all later ones.
func first(fail func(peer)) func(peer) {
	return func(p peer) {
		if p.number == 1 {
			fail(p)
			return
		}
		ok(p)
	}
}

// TestSend_HTTP2 sends to receivers that break HTTP/2, or use what few of them use. requests counts what the receiver got in this attempt.
// The next delivery to the same receiver must be delivered at once.
func TestSend_HTTP2(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		answer   func(peer)
		class    post.Class
		status   int
		err      string
		requests int
	}{
		{"answers", ok, post.Delivered, 204, "", 1},
		{"goes away without the request", func(p peer) { p.leave(0, noError) }, post.Delivered, 204, "", 2},
		{"goes away, and answers", func(p peer) { p.leave(p.stream, noError); ok(p) }, post.Delivered, 204, "", 1},
		{"goes away with the request", func(p peer) { p.leave(p.stream, noError); _ = p.Close() }, post.Failed, 0, "(HTTP/2 GOAWAY)", 1},
		{"goes away in anger", func(p peer) { p.leave(p.stream, enhanceYourCalm); _ = p.Close() }, post.Failed, 0, "(HTTP/2 GOAWAY)", 1},
		{"refuses the stream", func(p peer) { p.reset(refusedStream) }, post.Delivered, 204, "", 2},
		{"fails the stream", func(p peer) { p.reset(internalError) }, post.Failed, 0, "(HTTP/2 RST_STREAM)", 1},
		{"finds a protocol error", func(p peer) { p.reset(protocolError) }, post.Delivered, 204, "", 2},
		{"wants calm", func(p peer) { p.reset(enhanceYourCalm) }, post.Failed, 0, "(HTTP/2 RST_STREAM)", 1},
		{"resets without an error", func(p peer) { p.reset(noError) }, post.Failed, 0, "(HTTP/2 RST_STREAM)", 1},
		{"answers, then resets", func(p peer) { p.answer(0, status("204")); p.reset(internalError) }, post.Delivered, 204, "", 1},
		{"refuses, then resets", func(p peer) { p.answer(0, status("413")); p.reset(noError) }, post.Failed, 413, "answered 413", 1},
		{"large header", func(p peer) {
			p.answer(endStream, status("204", "x-large", strings.Repeat("x", 15_000), "x-larger", strings.Repeat("x", 600)))
		}, post.Delivered, 204, "", 1},
		{"header beyond the limit", func(p peer) {
			p.frame(frameHeaders, endStream, p.stream, status("204", "x-a", strings.Repeat("x", 15_000)))
			p.frame(frameContinuation, 0, p.stream, literal("x-b", strings.Repeat("x", 15_000)))
			p.frame(frameContinuation, endHeaders, p.stream, literal("x-c", strings.Repeat("x", 15_000)))
		}, post.Failed, 0, "broke off the answer", 1},
		{"header without an end", func(p peer) {
			p.frame(frameHeaders, 0, p.stream, status("204"))
			for range 500 {
				p.frame(frameContinuation, 0, p.stream, literal("x-b", strings.Repeat("x", 15_000)))
			}
		}, post.Failed, 0, "broke off the answer", 1},
		{"early hints without an end", func(p peer) {
			for range 2000 {
				p.answer(0, status("103", "link", strings.Repeat("x", 100)))
			}
			ok(p)
		}, post.Failed, 0, "the answer's header is larger than 32 KiB", 1},
		{"no status", func(p peer) { p.answer(endStream, literal("x-a", "1")) }, post.Failed, 0, "broke off the answer", 1},
		{"status that is no number", func(p peer) { p.answer(endStream, status("okay")) }, post.Failed, 0, "broke off the answer", 1},
		{"upper case field", func(p peer) { p.answer(endStream, status("204", "X-A", "1")) }, post.Failed, 0, "broke off the answer", 1},
		{"trailers", func(p peer) {
			p.answer(0, status("200"))
			p.data(0, "ok")
			p.answer(endStream, literal("x-checksum", "1"))
		}, post.Delivered, 200, "", 1},
		{"longer than its length", func(p peer) {
			p.answer(0, status("200", "content-length", "2"))
			p.data(endStream, "okay")
		}, post.Delivered, 200, "", 1},
		{"failure longer than its length", func(p peer) {
			p.answer(0, status("500", "content-length", "2"))
			p.data(endStream, "okay")
		}, post.Failed, 500, "answered 500", 1},
		{"data before its header", func(p peer) { p.data(endStream, "okay") }, post.Failed, 0, "broke off the answer", 1},
		{"frame that is too large", func(p peer) { p.frame(frameHeaders, endHeaders, p.stream, make([]byte, 2<<20)) }, post.Failed, 0, "broke off the answer", 1},
		{"is not HTTP/2", func(p peer) { _, _ = p.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) }, post.Failed, 0, "broke off the answer", 1},
		{"closes", func(p peer) { _ = p.Close() }, post.Failed, 0, "the connection was closed before the answer ended", 1},
		{"says nothing", func(peer) {}, post.Failed, 0, "no answer in time", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := speak(t, first(tt.answer))
			timeout := 5 * time.Second
			if tt.err == "no answer in time" {
				timeout = 300 * time.Millisecond
			}
			o := r.send(t, messageBody, timeout)
			if o.Class != tt.class {
				t.Errorf("class = %s, want %s", o.Class, tt.class)
			}
			if o.Status != tt.status {
				t.Errorf("status = %d, want %d", o.Status, tt.status)
			}
			checkErr(t, o, tt.err)
			if strings.Contains(o.Err, "hunter2") {
				t.Errorf("the attempt shows what the receiver sent with GOAWAY: %s", o.Err)
			}
			if _, requests := r.got(); requests != tt.requests {
				t.Errorf("the receiver got %d requests, want %d", requests, tt.requests)
			}
			if next := r.send(t, messageBody, 10*time.Second); next.Class != post.Delivered {
				t.Errorf("the next delivery: %s: %s, want it delivered", next.Class, next.Err)
			}
		})
	}
}

// A receiver that closes each connection before it takes the request gets three, and not thousands.
func TestSend_HTTP2_GoesAwayAlways(t *testing.T) {
	t.Parallel()
	r := speak(t, func(p peer) { p.leave(0, noError) })
	checkErr(t, r.send(t, messageBody, 10*time.Second), "closes each connection before it takes the request")
	if _, requests := r.got(); requests != 3 {
		t.Errorf("the receiver got %d requests, want 3", requests)
	}
}

// A receiver that never opens its window again stalls its connection (RFC 9113 §5.2). After two deliveries without an answer, the next
// one has a connection of its own.
func TestSend_HTTP2_WindowClosed(t *testing.T) {
	t.Parallel()
	r := speak(t, ok)
	body := strings.Repeat("x", 20_000) // the window has 65,535 bytes at first
	var got []string
	for n := range 6 {
		timeout := 10 * time.Second
		if n == 3 || n == 4 {
			timeout = 300 * time.Millisecond
		}
		o := r.send(t, body, timeout)
		got = append(got, o.Class.String()+o.Err)
	}
	want := []string{"delivered", "delivered", "delivered", "failedno answer in time", "failedno answer in time", "delivered"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if connections, _ := r.got(); connections != 2 {
		t.Errorf("%d connections, want 2", connections)
	}
}

// A delivery that waits for its answer holds up no other one, even if the receiver takes one request of a connection at a time.
func TestSend_HTTP2_OneAtATime(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	r := speak(t, first(func(peer) { close(waits) }), 0, 3, 0, 0, 0, 1) // SETTINGS_MAX_CONCURRENT_STREAMS
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan post.Result)
	go func() {
		done <- post.Send(ctx, r.client, endpoint(t, r.url), post.Message{ID: messageID, Body: []byte("{}"), Timeout: time.Minute}, time.Now)
	}()
	<-waits
	if o := r.send(t, messageBody, 10*time.Second); o.Class != post.Delivered {
		t.Errorf("another delivery: %s: %s, want it delivered", o.Class, o.Err)
	}
	stop()
	if o := <-done; o.Class != post.Aborted {
		t.Errorf("the delivery that waited: %s, want %s", o.Class, post.Aborted)
	}
}
