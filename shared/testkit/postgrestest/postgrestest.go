// Package postgrestest starts a PostgreSQL server in tests, with TLS and SCRAM. `make tools` installs it under .tools, at the version
// pinned in pom.xml. With go test -short, a test that needs it is skipped, so that Go alone can run the others.
//
// A test binary has at most one server, which starts at its first use:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"orgops/shared/base/freeport"
	"orgops/shared/testkit/errtest"
)

// Host is the server's address. User, with Password, may do anything.
const (
	Host     = "127.0.0.1"
	User     = "postgres"
	Password = "s3cr3t-of-postgres"
)

// Server is a running server.
type Server struct {
	Port int
	CA   string // in PEM; its certificate is for localhost and Host

	folder string
	alive  io.Closer
	ended  chan struct{}
}

var (
	once   sync.Once
	one    *Server
	failed error
)

// Run runs the tests and stops the server.
func Run(m *testing.M) int {
	code := m.Run()
	once.Do(func() {})
	if one != nil {
		one.stop()
	}
	return code
}

// Start returns the server. If it cannot start, Start fails the test and says what to install.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a PostgreSQL server: run make tools, and then the test without -short")
	}
	once.Do(func() { one, failed = start() })
	errtest.Must(t, failed)
	return one
}

// Connect opens a connection of a role, without TLS.
func (s *Server) Connect(t testing.TB, user, password string) *pgconn.PgConn {
	t.Helper()
	conn, err := s.connect(user, password)
	errtest.Must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (s *Server) connect(user, password string) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=postgres sslmode=disable", Host, s.Port, user, password))
}

// Run runs statements as the role postgres.
func (s *Server) Run(t testing.TB, statements string) {
	t.Helper()
	_, err := s.Connect(t, User, Password).Exec(t.Context(), statements).ReadAll()
	errtest.Must(t, err)
}

// unprivileged is the user that runs the server if the tests run as root, which PostgreSQL refuses.
const unprivileged = 65534

// as returns how a process of the server is started.
func as() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
}

// start makes a new database, and starts a server on it.
func start() (s *Server, err error) {
	installed, err := tools()
	if err != nil {
		return nil, err
	}
	port, err := freeport.Find(context.Background())
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "postgrestest-")
	if err != nil {
		return nil, err
	}
	s = &Server{Port: port, folder: folder, ended: make(chan struct{})}
	if err := s.begin(installed); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, s.ready()
}

func (s *Server) begin(installed string) (err error) {
	program, data, password := filepath.Join(s.folder, "program"), filepath.Join(s.folder, "data"), filepath.Join(s.folder, "password")
	certificate, key := filepath.Join(s.folder, "certificate"), filepath.Join(s.folder, "key")
	signed, private, err := makeCertificate()
	if err != nil {
		return err
	}
	s.CA = string(signed)
	// The user of the server may not be allowed to read the folder of the module.
	err = errors.Join(
		os.CopyFS(program, os.DirFS(installed)), os.WriteFile(password, []byte(Password), 0o600), os.WriteFile(certificate, signed, 0o600), os.WriteFile(key, private, 0o600),
	)
	if err == nil && as() != nil {
		for _, path := range []string{s.folder, password, certificate, key} {
			err = errors.Join(err, os.Chown(path, unprivileged, unprivileged))
		}
	}
	if err != nil {
		return err
	}
	bin := filepath.Join(program, "bin")
	// A C.UTF-8 order is the same on every machine.
	made := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", data, "--username", User, "--pwfile", password, "--auth", "scram-sha-256",
		"--no-sync", "--no-instructions", "--encoding", "UTF8", "--locale-provider", "builtin", "--locale", "C", "--builtin-locale", "C.UTF-8")
	made.SysProcAttr, made.Dir = as(), s.folder
	if said, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	if err := trust(filepath.Join(data, "pg_hba.conf")); err != nil {
		return err
	}
	return s.serve(filepath.Join(bin, "postgres"), "-D", data, "-h", Host+",127.0.0.2", "-p", strconv.Itoa(s.Port), "-k", "", "-F",
		"-c", "ssl=on", "-c", "ssl_cert_file="+certificate, "-c", "ssl_key_file="+key, "-c", "shared_buffers=16MB", "-c", "autovacuum=off",
		"-c", "jit=off", "-c", "max_connections=20")
}

// The roles that the server lets in with any password, if a test makes them.
const (
	Trusted = "trusted"
	Unasked = "unasked"
)

// trust adds the rule for Trusted and Unasked in front of the others.
func trust(rules string) error {
	others, err := os.ReadFile(rules)
	if err != nil {
		return err
	}
	return os.WriteFile(rules, append([]byte("host all "+Trusted+","+Unasked+" "+Host+"/32 trust\n"), others...), 0o600)
}

// watch runs a command, and ends it and removes its folder when standard input closes. So no process and no folder remains, even if the
// test binary is killed.
const watch = `exec 3<&0; folder=$1; shift; "$@" 3<&- & pid=$!; (cat <&3; kill -QUIT $pid) >/dev/null 2>&1 & wait $pid; rm -rf "$folder"`

func (s *Server) serve(command ...string) error {
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", watch, "sh", s.folder}, command...)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr, cmd.Dir = log, log, as(), s.folder
	if s.alive, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait() // its error says nothing, because stop ends the process
		close(s.ended)
	}()
	return nil
}

// readyWithin limits how long a server takes to accept connections, on a busy machine.
const readyWithin = time.Minute

func (s *Server) ready() error {
	deadline := time.NewTimer(readyWithin)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.DialTimeout("tcp", net.JoinHostPort(Host, strconv.Itoa(s.Port)), time.Second); err == nil {
			conn.Close()
			if admin, err := s.connect(User, Password); err == nil {
				return admin.Close(context.Background())
			}
		}
		select {
		case <-s.ended:
			return errors.New("the PostgreSQL server ended as it started")
		case <-deadline.C:
			s.stop()
			return fmt.Errorf("the PostgreSQL server is not ready after %s", readyWithin)
		case <-tick.C:
		}
	}
}

func (s *Server) stop() {
	s.alive.Close()
	<-s.ended
}

// tools returns the folder of .tools in the test's module.
func tools() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the test's folder; run the test inside the module")
		}
	}
	folder := filepath.Join(dir, ".tools", "postgresql")
	if _, missing := os.Stat(filepath.Join(folder, "bin")); missing != nil {
		return "", fmt.Errorf("%s is missing; run `make tools` to install it", folder)
	}
	return folder, err
}
