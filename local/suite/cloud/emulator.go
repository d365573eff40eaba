package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"orgops/shared/base/freeport"
)

// emulatorLog names the emulator's own log in a stack's home.
const emulatorLog = "emulator.log"

// readyWithin bounds the wait for the emulator's first answer.
const readyWithin = 2 * time.Minute

// emulate starts the emulator on a free port, with all its files in home, and returns its address.
func (t tools) emulate(ctx context.Context, home string) (*process, string, error) {
	number, err := freeport.Find(ctx)
	if err != nil {
		return nil, "", err
	}
	port := strconv.Itoa(number)
	p, err := begin(ctx, command{
		dir: filepath.Join(t.root, "local", "suite", "cloud"), log: filepath.Join(home, emulatorLog),
		env:     append(withoutAWS(os.Environ()), "PYTHONUNBUFFERED=1"),
		program: t.python,
		args:    []string{"-m", "emulator", "--port", port, "--home", home, "--dynamodb", t.dynamodb},
	})
	if err != nil {
		return nil, "", err
	}
	endpoint := "http://" + net.JoinHostPort("127.0.0.1", port)
	return p, endpoint, p.ready(ctx, endpoint+"/_localstack/health")
}

// ready waits until an address answers 200.
func (p *process) ready(ctx context.Context, url string) error {
	ctx, stop := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("no answer within %s", readyWithin))
	defer stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-p.ended:
			return p.exited()
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), errors.New(string(p.tail())))
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
