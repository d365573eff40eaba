package cloud

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"

	"orgops/shared/filetail"
)

// command is what a process runs.
type command struct {
	dir, log string // log: file for what it prints; "": one that nobody sees
	env      []string
	program  string
	args     []string
}

// process is a program with all that it starts. It is killed when ctx is cancelled, when it is ended, and when this
// process is gone, however that came about.
type process struct {
	ended <-chan struct{}
	err   error // once ended is closed
	log   *os.File
	alive io.Closer // standard input: closed when the process has ended, or this one
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
		err = os.Remove(log.Name()) // it is there for as long as it is open
	}
	return log, err
}

// end kills what still runs, and waits for that.
func (p *process) end() {
	p.stop()
	<-p.ended
	p.log.Close()
}

// tail is the last of what the process printed.
func (p *process) tail() []byte { return filetail.Of(p.log, 4000) }

// exited says how a process ended that should not have.
func (p *process) exited() error {
	return errors.Join(errors.New("it ended by itself: "+string(p.tail())), p.err)
}
