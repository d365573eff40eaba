package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"orgops/shared/webhook/standardwebhooks"
)

// leastCommand makes this binary run the floor instead of a scenario. Its argument is the url that receives the deliveries. The
// service's variables name its address and its folder.
const leastCommand = "serve-floor"

// Settings of the floor.
const (
	leastHeap    = 48 << 20 // the service's target
	journalBytes = 32 << 20
	resultsEvery = 20 * time.Millisecond // the service writes its results as late
)

// leastProgram does what no service of webhooks can leave out: it verifies a signature, appends the webhook to a file, answers 202
// after a sync that it shares with other requests, signs, posts, and appends the result. It has the standard library's server and
// client, as the service has. It has no companies, store, mapping, policy, feed or retry, and reads nothing after its end.
type leastProgram struct {
	target  string
	signer  *standardwebhooks.Signer
	client  *http.Client
	journal *journal
}

func runLeast(ctx context.Context, target string) error {
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(leastHeap)
	folder := os.Getenv("ORGOPS_DATA")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	j, err := openJournal(filepath.Join(folder, "journal"))
	if err != nil {
		return err
	}
	signer, err := standardwebhooks.NewSigner([]string{secret})
	if err != nil {
		return err
	}
	p := &leastProgram{
		target: target, signer: signer, journal: j,
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /inbound/{company}/webhook", p.receive)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", os.Getenv("ORGOPS_ADDR"))
	if err != nil {
		return err
	}
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}).Serve(l)
}

func (p *leastProgram) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id, err := standardwebhooks.Verify([]string{secret}, r.Header, body, time.Now())
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if err := p.journal.commit(fmt.Appendf(nil, "%s\n%s\n", id, body)); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	go p.deliver(id, body)
	w.WriteHeader(http.StatusAccepted)
}

func (p *leastProgram) deliver(id string, body []byte) {
	result := "sent"
	if err := p.send(id, body); err != nil {
		result = err.Error()
	}
	p.journal.add(fmt.Appendf(nil, "%s %s\n", id, result))
}

func (p *leastProgram) send(id string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, p.target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = p.signer.Headers(id, body, time.Now())
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusAccepted {
		err = errors.Join(err, fmt.Errorf("answered %d", resp.StatusCode))
	}
	return errors.Join(err, resp.Body.Close())
}

// journal appends records to a file. All that arrive during a write share the next one, which is synced.
type journal struct {
	file *os.File
	wake chan struct{}

	mu      sync.Mutex
	records []byte
	waiting []chan error
}

// openJournal opens a file whose space is allocated, as that of the service's log is, so that a sync writes data alone.
func openJournal(path string) (*journal, error) {
	if err := os.WriteFile(path, make([]byte, journalBytes), 0o600); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_DSYNC, 0)
	if err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	j := &journal{file: file, wake: make(chan struct{}, 1)}
	go j.run()
	return j, nil
}

// add appends a record with the next write.
func (j *journal) add(record []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, record...)
}

// commit appends a record and waits until it is synced.
func (j *journal) commit(record []byte) error {
	done := make(chan error, 1)
	j.mu.Lock()
	j.records, j.waiting = append(j.records, record...), append(j.waiting, done)
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return <-done
}

func (j *journal) run() {
	late := time.NewTicker(resultsEvery)
	var records []byte
	var waiting []chan error
	for {
		select {
		case <-j.wake:
		case <-late.C:
		}
		j.mu.Lock()
		records, j.records = j.records, records[:0]
		waiting, j.waiting = j.waiting, waiting[:0]
		j.mu.Unlock()
		var err error
		if len(records) > 0 {
			_, err = j.file.Write(records)
		}
		for _, done := range waiting {
			done <- err
		}
	}
}
