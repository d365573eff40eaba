// Command local runs the whole service in one process: every route group on one router, the change feed pumped to the
// projector and the dispatcher, the queues worked on, and interactive documentation at /api/docs. Its subcommands are
// the operator's tools.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// memoryTarget is what the Go heap is kept under as long as it can be: a laptop's share. A login needs 19 MiB for a
// moment; without a target that garbage would stay around.
const memoryTarget = 48 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orgops:", err)
		os.Exit(1)
	}
}
