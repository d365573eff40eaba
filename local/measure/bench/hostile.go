package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"orgops/shared/base/wait"
)

// A round measures the undisturbed tenants without and then with the disturbance, on the same service.
const (
	held      = 10_000 // deliveries of the first tenant that are recovered in each round
	rounds    = 3
	pace      = 100 // events a second, over all undisturbed tenants
	lasts     = 6   // seconds
	disturbed = 8   // events to each other disturbed tenant, in each round
	drainedIn = 90 * time.Second
)

// disturbance says which tenants disturb the others: those before first. The first of all has a backlog.
type disturbance struct {
	first     int
	behaviors []behavior // of the tenants before first, while they disturb
	stalled   int        // the tenant whose TLS handshakes stall meanwhile; -1: none
}

// backlog recovers 10,000 held deliveries of one tenant, whose endpoint takes a second for an answer, and measures the other
// tenants.
func backlog(ctx context.Context, s settings) error {
	return disturb(ctx, s, disturbance{first: 1, behaviors: []behavior{pause(time.Second)}, stalled: -1})
}

// hostile lets five tenants' receivers do their worst, while 10,000 held deliveries of one of them are recovered: 100 MB answers,
// a TLS handshake that stalls, endless headers, bytes that drip, and no answer. It measures the other fifteen.
func hostile(ctx context.Context, s settings) error {
	return disturb(ctx, s, disturbance{first: 5, behaviors: []behavior{huge, hangUp, endless, drip, pause(time.Minute)}, stalled: 1})
}

func disturb(ctx context.Context, s settings, d disturbance) error {
	s.apart = true
	const quiet = pace * lasts
	a := newArrivals(rounds * (held + d.first*disturbed + 2*quiet))
	var on atomic.Bool
	b, err := d.prepare(ctx, s, a, &on)
	if err != nil {
		return err
	}
	defer b.close()
	next := 0
	publish := func(n, clients int, pace time.Duration, tenantOf func(int) int) (first int, err error) {
		first, next = next, next+n
		return first, b.publish(a, first, next, clients, pace, tenantOf)
	}
	var calm, loaded []time.Duration
	measure := func(name string, all *[]time.Duration) error {
		first, err := publish(quiet, 8, time.Second/pace, func(n int) int { return d.first + n%(s.tenants-d.first) })
		if err != nil || !wait.For(ctx, time.Second) {
			return errors.Join(err, ctx.Err())
		}
		one := a.delays(func(n int) bool { return n >= first && n < first+quiet })
		*all = append(*all, one...)
		fmt.Printf("%s: %d of %d events arrived, p50 %.2f ms, p95 %.2f ms, p99 %.2f ms\n",
			name, len(one), quiet, percentile(one, 0.5), percentile(one, 0.95), percentile(one, 0.99))
		return nil
	}
	for range rounds {
		if err := measure("calm", &calm); err != nil {
			return err
		}
		var first int
		err := b.hold(ctx, b.tenants[0], func() (err error) {
			first, err = publish(held, s.clients, 0, func(int) int { return 0 })
			return err
		})
		if err != nil {
			return err
		}
		on.Store(true)
		begun, cpu := time.Now(), b.cpu()
		if err := b.recover(ctx, b.tenants[0]); err != nil {
			return err
		}
		for tenant := 1; tenant < d.first; tenant++ {
			if _, err := publish(disturbed, 1, 0, func(int) int { return tenant }); err != nil {
				return err
			}
		}
		if err := measure("disturbed", &loaded); err != nil {
			return err
		}
		of := func(n int) bool { return n >= first && n < first+held }
		for len(a.delays(of)) < held && time.Since(begun) < drainedIn {
			wait.For(ctx, 100*time.Millisecond)
		}
		fmt.Printf("%d of %d recovered deliveries arrived within %.0f s, for %.1f s of CPU\n", len(a.delays(of)), held, time.Since(begun).Seconds(), b.cpu()-cpu)
		on.Store(false)
		wait.For(ctx, 3*time.Second)
	}
	before, after := percentile(calm, 0.95), percentile(loaded, 0.95)
	fmt.Printf("p95 of the others: %.2f ms calm, %.2f ms disturbed: %.2f x; peak memory %.0f MiB\n", before, after, after/before, b.memory())
	return nil
}

// prepare makes a service with receivers that behave once on is set. A tenant that disturbs has a host of its own. Otherwise its closed
// connections would be those of the others.
func (d disturbance) prepare(ctx context.Context, s settings, a *arrivals, on *atomic.Bool) (*bed, error) {
	behaviors := func(path string) behavior {
		tenant, err := strconv.Atoi(strings.TrimPrefix(path, "/"))
		if err != nil || !on.Load() || tenant >= d.first {
			return nil
		}
		return d.behaviors[tenant]
	}
	certificate, err := selfSigned()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	folder, err := os.MkdirTemp("", "bench-roots")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s.roots = filepath.Join(folder, "roots.pem")
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(s.roots, root, 0o600); err != nil {
		return nil, err
	}
	own := make([]net.Listener, d.first)
	for tenant := range own {
		if own[tenant], err = listen(ctx); err != nil {
			return nil, err
		}
	}
	return prepareAt(ctx, s, a.note, behaviors, func(tenant int, r *receiver) string {
		switch {
		case tenant >= d.first:
			return r.url()
		case tenant == d.stalled:
			go r.stall(own[tenant], config, on)
			return "https://" + own[tenant].Addr().String()
		}
		go r.accept(own[tenant])
		return "http://" + own[tenant].Addr().String()
	})
}

// selfSigned makes a certificate for the loopback address.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// stall serves TLS, but once on is set, it does not answer a handshake.
func (r *receiver) stall(l net.Listener, config *tls.Config, on *atomic.Bool) {
	for {
		c, err := l.Accept()
		switch {
		case err != nil:
			return
		case on.Load():
			continue // the connection stays open
		}
		go r.serve(tls.Server(c, config))
	}
}

// hangUp closes the connection, so that the next event needs a new one.
func hangUp(net.Conn) bool { return false }

// drip answers with four bytes a second.
func drip(c net.Conn) bool {
	for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 60)) {
		if _, err := c.Write([]byte{b}); err != nil {
			return false
		}
		time.Sleep(time.Second / 4)
	}
	return false
}

// endless sends headers until the service closes the connection.
func endless(c net.Conn) bool {
	_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
	for err == nil {
		_, err = io.WriteString(c, "X-More: "+strings.Repeat("y", 1000)+"\r\n")
	}
	return false
}

// huge answers with 100 MB. Its own buffer is small: the system would copy 2 MB into a large one, at the cost of the two cores that
// the service shares with its receivers.
func huge(c net.Conn) bool {
	const size, buffer = 100 << 20, 64 << 10
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(buffer)
	}
	_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
	chunk := make([]byte, buffer)
	for sent := 0; err == nil && sent < size; sent += len(chunk) {
		_, err = c.Write(chunk)
	}
	return false
}
