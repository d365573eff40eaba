// Command local runs the whole service in one process: it mounts every route group on one router, pumps the change feed to
// the projector and the dispatcher, works the queues, and serves interactive documentation at /api/docs. Its subcommands are
// the operator's tools.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // an image without a base has no certificate authorities

	"orgops/local/command/screen"
)

// memoryTarget limits the Go heap, softly, so that the service fits on a laptop. A login briefly needs 19 MiB; without a
// target that garbage would stay resident.
const memoryTarget = 48 << 20

// garbageTarget lets garbage grow to twice the live heap before a collection. Under load this takes 6 % less CPU than Go's own 100,
// and the peak stays the same, because the logins set it. Close to memoryTarget, the collector runs as often as it must.
const garbageTarget = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageTarget)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	// A closed terminal sends SIGHUP. A program that was started with nohup ignores it.
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(screen.Writer(os.Stderr), "orgops:", err)
		os.Exit(1)
	}
}
