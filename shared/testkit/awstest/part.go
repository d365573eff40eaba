// Package awstest starts local servers that emulate AWS in tests: DynamoDB Local (with its streams), ElasticMQ for SQS, and
// moto for KMS, Secrets Manager and API Gateway's usage plans. `make tools` installs them under .tools, at the versions
// pinned in this folder.
//
// With go test -short, a test that needs a server is skipped, so that Go alone can run the others.
//
// A test binary has at most one server of each kind. It declares the servers as parts and runs its tests with them. A test
// gets access to the parts that it needs:
//
//	var dynamo, moto = awstest.DynamoDB(), awstest.Moto()
//
//	func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, moto)) }
//
//	func TestStore(t *testing.T) { access := awstest.Access(t, dynamo, moto) … }
package awstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/base/awsclient"
	"orgops/shared/base/filetail"
	"orgops/shared/base/freeport"
)

// Part runs one emulator. It starts at its first use.
type Part struct {
	folder   string   // under .tools
	services []string // the emulated services, as AWS_ENDPOINT_URL_<service> names them
	command  func(installed, temporary string, port int) []string

	once     sync.Once
	endpoint string
	err      error
	log      *os.File
	stop     func()
}

// DynamoDB returns DynamoDB Local, in memory.
func DynamoDB() *Part {
	return &Part{folder: "java/dynamodb-local", services: []string{"DYNAMODB"}, command: func(installed, temporary string, port int) []string {
		return []string{
			"java", brief, serial, "-Xmx512m", "-Djava.library.path=" + installed, "-Djava.io.tmpdir=" + temporary, "-cp", filepath.Join(installed, "*"),
			"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-disableTelemetry", "-port", strconv.Itoa(port),
		}
	}}
}

// A test is too short for Java's second compiler and parallel collector: without them DynamoDB Local takes two thirds of the CPU time.
const (
	brief  = "-XX:TieredStopAtLevel=1"
	serial = "-XX:+UseSerialGC"
)

// SQS returns ElasticMQ.
func SQS() *Part {
	return &Part{folder: "java/elasticmq", services: []string{"SQS"}, command: func(installed, _ string, port int) []string {
		number := strconv.Itoa(port)
		return []string{
			"java", brief, serial, "-Xmx256m", "-Drest-sqs.bind-hostname=127.0.0.1", "-Drest-sqs.bind-port=" + number, "-Dnode-address.port=" + number,
			"-Drest-stats.enabled=false", "-cp", filepath.Join(installed, "*"), "org.elasticmq.server.Main",
		}
	}}
}

// Moto returns moto, in memory. It checks no permissions.
func Moto() *Part {
	services := []string{"KMS", "SECRETS_MANAGER", "API_GATEWAY"}
	return &Part{folder: "moto", services: services, command: func(installed, _ string, port int) []string {
		return []string{filepath.Join(installed, "bin", "moto_server"), "-H", host, "-p", strconv.Itoa(port)}
	}}
}

const host = "127.0.0.1"

// Run runs the tests and stops the parts. It returns the exit code of the process.
func Run(m *testing.M, parts ...*Part) int {
	code := m.Run()
	for _, p := range parts {
		p.once.Do(func() {}) // waits for a start in progress that a failed test has abandoned
		if p.stop != nil {
			p.stop()
		}
	}
	return code
}

// Run calls the function Run with only this part.
func (p *Part) Run(m *testing.M) int { return Run(m, p) }

// Place provides the endpoint of services: a Part, or a Proxy in front of one.
type Place interface {
	// at starts the place if necessary, and returns its endpoint and the names of its services.
	at(t testing.TB) (endpoint string, services []string)
}

// Environment returns the variables, in the form of exec.Cmd, that point a process to these places instead of AWS: a
// region, dummy keys, and each service's endpoint. If two places have the same service, the later one wins.
func Environment(t testing.TB, places ...Place) []string {
	t.Helper()
	skipShort(t)
	for _, place := range places {
		if p, ok := place.(*Part); ok {
			go p.once.Do(p.start) // concurrently; at waits for each
		}
	}
	env := []string{"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local"}
	for _, place := range places {
		endpoint, services := place.at(t)
		for _, s := range services {
			env = append(env, "AWS_ENDPOINT_URL_"+s+"="+endpoint)
		}
	}
	return env
}

const region = "eu-central-1"

// Endpoint returns the address of a part, such as http://127.0.0.1:8000.
func Endpoint(t testing.TB, p *Part) string {
	t.Helper()
	endpoint, _ := p.at(t)
	return endpoint
}

// Access returns the access for clients of these places. If a part cannot start, Access fails the test and says what to
// install.
func Access(t testing.TB, places ...Place) awsclient.Access {
	t.Helper()
	values := map[string]string{}
	for _, pair := range Environment(t, places...) {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	access, err := awsclient.Read(func(name string) string { return values[name] })
	if err != nil {
		t.Fatal(err)
	}
	return access
}

// Access calls the function Access with only this part.
func (p *Part) Access(t testing.TB) awsclient.Access {
	t.Helper()
	return Access(t, p)
}

func (p *Part) at(t testing.TB) (string, []string) {
	t.Helper()
	skipShort(t)
	p.once.Do(p.start)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.endpoint, p.services
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an emulator of AWS: run make tools, and then the test without -short")
	}
}

func (p *Part) start() { p.err = p.begin() }

// begin starts the part and waits until it listens.
func (p *Part) begin() error {
	installed, err := tools(p.folder)
	if err != nil {
		return err
	}
	port, err := freeport.Find(context.Background())
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "awstest-")
	if err != nil {
		return err
	}
	err = p.run(p.command(installed, temporary, port), temporary, net.JoinHostPort(host, strconv.Itoa(port)))
	if p.stop == nil { // no process started, so none removes the folder
		err = errors.Join(err, os.RemoveAll(temporary))
	}
	return err
}

// watch runs a command, and kills it and removes its folder when standard input closes. So no process and no folder
// remains, even if the test binary is killed or times out. ElasticMQ would take 15 s to shut down, and data in memory needs
// no shutdown.
const watch = `exec 3<&0; folder=$1; shift; "$@" 3<&- & pid=$!; (cat <&3; kill -9 $pid) >/dev/null 2>&1 & wait $pid; rm -rf "$folder"`

func (p *Part) run(command []string, temporary, address string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("%w; run `make needs` to see what is missing and `make tools` to install the rest", err)
	}
	log, err := os.Create(filepath.Join(temporary, "log"))
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", watch, "sh", temporary}, command...)...)
	cmd.Stdout, cmd.Stderr = log, log
	alive, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its error says nothing, because stop kills the process
		close(ended)
	}()
	p.endpoint, p.log = "http://"+address, log
	p.stop = func() {
		alive.Close()
		<-ended
		log.Close()
	}
	return p.ready(address, ended)
}

// readyWithin limits how long a part takes to listen. It usually takes seconds, but much longer on a busy machine.
const readyWithin = 3 * time.Minute

// ready waits until the part listens.
func (p *Part) ready(address string, ended <-chan struct{}) error {
	deadline := time.NewTimer(readyWithin)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			return conn.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("%s ended: %s", p.folder, p.tail())
		case <-deadline.C:
			return fmt.Errorf("%s is not ready after %s: %s", p.folder, readyWithin, p.tail())
		case <-tick.C:
		}
	}
}

// tail returns the end of the part's output. It reads the open file, because the file may have been removed.
func (p *Part) tail() []byte { return filetail.Of(p.log, 2000) }

// tools returns a folder of .tools in the test's module.
func tools(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder; run the test inside the module")
		}
		dir = parent
	}
	folder := filepath.Join(dir, ".tools", filepath.FromSlash(name))
	if entries, err := os.ReadDir(folder); err != nil || len(entries) == 0 {
		return "", fmt.Errorf("%s is missing; run `make tools` to install it", folder)
	}
	return folder, nil
}
