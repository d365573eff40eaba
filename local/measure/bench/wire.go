package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"orgops/shared/webhook/standardwebhooks"
)

// The load generator and the receiver share two cores with the service, so they implement HTTP/1.1 by hand: a request is a
// prepared byte slice, an answer a status and a length.

// conn holds one kept-alive client connection.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 16<<10)}, nil
}

// do sends a request and reads its answer to the end.
func (c *conn) do(request []byte) (status int, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, errors.New("no status line")
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length, err := headers(c.in)
	if err == nil && length == chunked {
		return status, c.skipChunks()
	}
	if err == nil {
		_, err = c.in.Discard(length)
	}
	return status, err
}

// chunked marks a body without a length.
const chunked = -1

func (c *conn) skipChunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := c.in.Discard(int(size) + 2); err != nil || size == 0 {
			return err
		}
	}
}

// headers reads to the empty line and returns the content length.
func headers(in *bufio.Reader) (length int, err error) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			return length, nil
		}
		if bytes.EqualFold(bytes.TrimSpace(line), []byte("transfer-encoding: chunked")) {
			length = chunked
		}
		if len(line) > 16 && (line[0] == 'C' || line[0] == 'c') && bytes.EqualFold(line[:15], []byte("content-length:")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[15:]))); err != nil {
				return 0, err
			}
		}
	}
}

// publisher posts signed arrivals to a tenant's inbound route.
type publisher struct {
	*conn
	t      tenant
	signer *standardwebhooks.Signer
	one    bool // all events are about one record
	body   []byte
}

func newPublisher(addr string, t tenant) (*publisher, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	signer, err := standardwebhooks.NewSigner([]string{secret})
	return &publisher{conn: c, t: t, signer: signer}, err
}

// filler pads the body to 300 bytes.
const filler = "a ticket of three hundred bytes, which is about what the webhooks of the field carry, and long enough to be cut by no hop on its way"

// publish posts event n and waits for the answer.
func (p *publisher) publish(n int) error {
	record := n
	if p.one {
		record = 0
	}
	p.body = fmt.Appendf(p.body[:0], `{"type":"memory.upsert","data":{"externalId":"n-%d","kind":"ticket","title":"Ticket %d","body":"%s","url":"https://example.com/tickets/%d"}}`, record, n, filler, n)
	id := "msg_" + p.t.company + "_" + strconv.Itoa(n)
	now := time.Now()
	p.out = fmt.Appendf(p.out[:0], "POST /inbound/%s/webhook HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nWebhook-Id: %s\r\nWebhook-Timestamp: %d\r\nWebhook-Signature: %s\r\nContent-Length: %d\r\n\r\n",
		p.t.company, id, now.Unix(), p.signer.Sign(id, now.Unix(), p.body), len(p.body))
	p.out = append(p.out, p.body...)
	status, err := p.do(p.out)
	if err == nil && status != 202 {
		err = fmt.Errorf("answered %d", status)
	}
	return err
}

// receiver receives deliveries on one address. It verifies the requests of a certification, so that the certification
// passes. For every event it calls arrived with the path, and then the path's behavior.
type receiver struct {
	net.Listener
	arrived   func(path string, n int, at time.Time)
	behaviors func(path string) behavior // nil: every path answers
}

// behavior deals with an event that has arrived. It returns true if the receiver then answers the event, and false if the
// receiver closes the connection. A nil behavior lets the receiver answer at once.
type behavior func(c net.Conn) (answer bool)

// pause answers after a while.
func pause(d time.Duration) behavior {
	return func(net.Conn) bool {
		time.Sleep(d)
		return true
	}
}

func (r *receiver) behavior(path string, c net.Conn) (answer bool) {
	if r.behaviors == nil {
		return true
	}
	behavior := r.behaviors(path)
	return behavior == nil || behavior(c)
}

func receive(ctx context.Context, arrived func(string, int, time.Time), behaviors func(string) behavior) (*receiver, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	r := &receiver{Listener: l, arrived: arrived, behaviors: behaviors}
	go r.accept(l)
	return r, nil
}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

func (r *receiver) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go r.serve(c)
	}
}

func (r *receiver) url() string { return "http://" + r.Addr().String() }

//nolint:gochecknoglobals // byte slices cannot be constants
var (
	taken   = []byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n") // as the service answers, for the run without it
	refused = []byte("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
)

func (r *receiver) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 16<<10)
	body := make([]byte, 0, 4096)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			return
		}
		path := string(fields[1])
		length, header, err := r.head(in)
		if err != nil {
			return
		}
		body = append(body[:0], make([]byte, length)...)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		answer := taken
		if n, ok := number(body); ok {
			r.arrived(path, n, time.Now())
			if !r.behavior(path, c) {
				return
			}
		} else if _, err := standardwebhooks.Verify([]string{secret}, header, body, time.Now()); err != nil {
			answer = refused
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// secret signs inbound and outbound deliveries.
const secret = "whsec_YmVuY2ggYmVuY2ggYmVuY2ggYmVuY2ggYmVuY2ggYmVuY2g="

func (r *receiver) head(in *bufio.Reader) (length int, h http.Header, err error) {
	h = http.Header{}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil || len(line) <= 2 {
			return length, h, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, nil, err
			}
		case bytes.EqualFold(name[:min(7, len(name))], []byte("webhook")):
			h.Set(string(name), string(value))
		}
	}
}

// number returns n of the title "Ticket <n>" in an event. A previous title stands before it.
func number(body []byte) (int, bool) {
	const title = `"title":"Ticket `
	at := bytes.LastIndex(body, []byte(title))
	if at < 0 {
		return 0, false
	}
	rest := body[at+len(title):]
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
