//go:build unix

package cloud

import (
	"os/exec"
	"syscall"
)

// lead makes a command the leader of a process group, which is killed as a whole. A terminal's Ctrl-C does not reach the
// group.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
