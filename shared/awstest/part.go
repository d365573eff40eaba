// Package awstest starts, for tests, what stands in for AWS on a machine without it: DynamoDB Local (with its streams),
// ElasticMQ for SQS, and moto for KMS, Secrets Manager and API Gateway's usage plans. `make tools` installs them under
// .tools, at the versions pinned in the files beside this one.
//
// A test binary has one of each at most. It declares it, runs its tests under it, and asks for it where it is needed:
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

	"orgops/shared/awsclient"
	"orgops/shared/filetail"
	"orgops/shared/freeport"
)

// Part is a stand-in. It starts when it is first asked for.
type Part struct {
	folder   string   // under .tools
	services []string // whose endpoint it is, as AWS_ENDPOINT_URL_<service> names them
	command  func(installed, temporary string, port int) []string

	once     sync.Once
	endpoint string
	err      error
	log      *os.File
	stop     func()
}

// DynamoDB is DynamoDB Local, in memory.
func DynamoDB() *Part {
	return &Part{folder: "java/dynamodb-local", services: []string{"DYNAMODB"}, command: func(installed, temporary string, port int) []string {
		return []string{
			"java", "-Xmx512m", "-Djava.library.path=" + installed, "-Djava.io.tmpdir=" + temporary, "-cp", filepath.Join(installed, "*"),
			"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-disableTelemetry", "-port", strconv.Itoa(port),
		}
	}}
}

// SQS is ElasticMQ.
func SQS() *Part {
	return &Part{folder: "java/elasticmq", services: []string{"SQS"}, command: func(installed, _ string, port int) []string {
		number := strconv.Itoa(port)
		return []string{
			"java", "-Xmx256m", "-Drest-sqs.bind-hostname=127.0.0.1", "-Drest-sqs.bind-port=" + number, "-Dnode-address.port=" + number,
			"-Drest-stats.enabled=false", "-cp", filepath.Join(installed, "*"), "org.elasticmq.server.Main",
		}
	}}
}

// Moto is moto, in memory. Whoever calls it may do everything.
func Moto() *Part {
	services := []string{"KMS", "SECRETS_MANAGER", "API_GATEWAY"}
	return &Part{folder: "moto", services: services, command: func(installed, _ string, port int) []string {
		return []string{filepath.Join(installed, "bin", "moto_server"), "-H", host, "-p", strconv.Itoa(port)}
	}}
}

const host = "127.0.0.1"

// Run runs the tests and ends the parts. It returns what the process must exit with.
func Run(m *testing.M, parts ...*Part) int {
	code := m.Run()
	for _, p := range parts {
		p.once.Do(func() {}) // waits for a start that is under way, which a test that has failed no longer did
		if p.stop != nil {
			p.stop()
		}
	}
	return code
}

// Run is Run with this part alone.
func (p *Part) Run(m *testing.M) int { return Run(m, p) }

// A Place is where services are: a Part, or a Proxy before one.
type Place interface {
	// at starts what is not there yet and is its address, and the services' names.
	at(t testing.TB) (endpoint string, services []string)
}

// Environment is the variables by which a process finds these places and nothing of AWS, as exec.Cmd takes them: a
// region, keys that open nothing, and each service's endpoint. Of two places of a service the later holds.
func Environment(t testing.TB, places ...Place) []string {
	t.Helper()
	for _, place := range places {
		if p, ok := place.(*Part); ok {
			go p.once.Do(p.start) // all of them at once; at waits for each
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

// Access is what a client of these places is made from. What cannot start fails the test, and says what to install.
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

// Access is Access of this part alone.
func (p *Part) Access(t testing.TB) awsclient.Access {
	t.Helper()
	return Access(t, p)
}

func (p *Part) at(t testing.TB) (string, []string) {
	t.Helper()
	p.once.Do(p.start)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.endpoint, p.services
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
	if p.stop == nil { // it did not begin: nobody else removes it
		err = errors.Join(err, os.RemoveAll(temporary))
	}
	return err
}

// watch runs a command and kills it when its own standard input ends: however the test binary ends, killed or out of
// time, nothing stays behind, the folder of its log and its temporary files included. What is in memory need not be shut
// down in order, which takes ElasticMQ 15 s.
const watch = `exec 3<&0; folder=$1; shift; "$@" 3<&- & pid=$!; (cat <&3; kill -9 $pid) >/dev/null 2>&1 & wait $pid; rm -rf "$folder"`

func (p *Part) run(command []string, temporary, address string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("%w: `make needs` says what is missing, `make tools` installs the rest", err)
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
		_ = cmd.Wait() // it is killed
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

// readyWithin is how long a part may take to listen: seconds, or many times that beside others on a busy machine.
const readyWithin = 3 * time.Minute

// ready waits until something listens.
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

// tail is the last of what the part printed, whose file may be gone with it.
func (p *Part) tail() []byte { return filetail.Of(p.log, 2000) }

// tools is a folder of .tools in the module that the test is in.
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
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
	folder := filepath.Join(dir, ".tools", filepath.FromSlash(name))
	if entries, err := os.ReadDir(folder); err != nil || len(entries) == 0 {
		return "", fmt.Errorf("%s is not there: run `make tools`, which installs it", folder)
	}
	return folder, nil
}
