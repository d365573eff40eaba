package cloud

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"

	"orgops/shared/base/filetail"
)

// command describes what a process runs.
type command struct {
	dir, log string // log: file for its output; "" for an unnamed temporary file
	env      []string
	program  string
	args     []string
}

// process runs a program with all its children. They are killed when ctx ends, when end is called, and when this process ends
// for any reason.
type process struct {
	ended <-chan struct{}
	err   error // set when ended closes
	log   *os.File
	alive io.Closer // standard input; closes when this process ends
	stop  context.CancelFunc
}

// watch runs a command and kills its process group when standard input ends.
const watch = `exec 3<&0; "$@" 3<&- & child=$!; (cat <&3; kill -9 -$$) >/dev/null 2>&1 & wait $child`

func begin(ctx context.Context, c command) (*process, error) {
	log, err := c.open()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", watch, "sh", c.program}, c.args...)...) //nolint:gosec // every command is written here, or installed by make tools
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, log, log
	lead(cmd)
	alive, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return nil, errors.Join(err, log.Close())
	}
	ended := make(chan struct{})
	p := &process{ended: ended, log: log, alive: alive, stop: stop}
	go func() {
		p.err = cmd.Wait()
		close(ended)
	}()
	return p, nil
}

func (c command) open() (*os.File, error) {
	if c.log != "" {
		return os.Create(c.log)
	}
	log, err := os.CreateTemp("", "orgops-cloud-*.log")
	if err == nil {
		err = os.Remove(log.Name()) // the open file remains readable
	}
	return log, err
}

// end kills the processes that still run and waits for them.
func (p *process) end() {
	p.stop()
	<-p.ended
	p.log.Close()
}

// tail returns the last 4,000 bytes of the process's output.
func (p *process) tail() []byte { return filetail.Of(p.log, 4000) }

// exited returns the error of a process that ended unexpectedly.
func (p *process) exited() error {
	return errors.Join(errors.New("the process ended unexpectedly: "+string(p.tail())), p.err)
}
