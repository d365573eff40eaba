// Package awstest starts, for tests, what stands in for AWS on a machine without it: DynamoDB Local (with its streams) and
// ElasticMQ for SQS. Both are Java programs that `make tools` downloads into .tools/java at the versions pinned in the
// Maven files beside this one.
//
// A test binary has one of each at most. It declares it, runs its tests under it, and asks for it where it is needed:
//
//	var dynamo = awstest.DynamoDB()
//
//	func TestMain(m *testing.M) { os.Exit(dynamo.Run(m)) }
//
//	func TestStore(t *testing.T) { access := dynamo.Access(t) … }
package awstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"orgops/shared/awsclient"
)

// Part is a stand-in. It starts when it is first asked for.
type Part struct {
	folder   string // under .tools/java
	variable string // that names its endpoint
	command  func(folder string, port int) []string

	once     sync.Once
	endpoint string
	err      error
	log      string
	stop     func()
}

// DynamoDB is DynamoDB Local, in memory.
func DynamoDB() *Part {
	return &Part{folder: "dynamodb-local", variable: "AWS_ENDPOINT_URL_DYNAMODB", command: func(folder string, port int) []string {
		return []string{
			"-Xmx512m", "-Djava.library.path=" + folder, "-cp", filepath.Join(folder, "*"),
			"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-disableTelemetry", "-port", strconv.Itoa(port),
		}
	}}
}

// SQS is ElasticMQ.
func SQS() *Part {
	return &Part{folder: "elasticmq", variable: "AWS_ENDPOINT_URL_SQS", command: func(folder string, port int) []string {
		number := strconv.Itoa(port)
		return []string{
			"-Xmx256m", "-Drest-sqs.bind-hostname=127.0.0.1", "-Drest-sqs.bind-port=" + number, "-Dnode-address.port=" + number,
			"-Drest-stats.enabled=false", "-cp", filepath.Join(folder, "*"), "org.elasticmq.server.Main",
		}
	}}
}

// Run runs the tests and ends the part. It returns what the process must exit with.
func (p *Part) Run(m *testing.M) int {
	code := m.Run()
	if p.stop != nil {
		p.stop()
	}
	return code
}

// Access is what a client of the part is made from. It starts the part; without it the test fails, and says what to install.
func (p *Part) Access(t testing.TB) awsclient.Access {
	t.Helper()
	p.once.Do(p.start)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.at(t, p.endpoint)
}

// at is an Access of the part at an address.
func (p *Part) at(t testing.TB, endpoint string) awsclient.Access {
	t.Helper()
	access, err := awsclient.Read(func(name string) string {
		return map[string]string{
			"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", p.variable: endpoint,
		}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return access
}

// start begins the part and waits until it listens.
func (p *Part) start() {
	java, err := exec.LookPath("java")
	if err != nil {
		p.err = errors.New("java is missing: Java 17 or newer is needed (apt-get install openjdk-17-jre-headless, or brew install openjdk)")
		return
	}
	folder, err := jars(p.folder)
	if err != nil {
		p.err = err
		return
	}
	port, err := freePort()
	if err != nil {
		p.err = err
		return
	}
	p.err = p.run(append([]string{java}, p.command(folder, port)...), net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// watch runs a command and kills it when its own standard input ends: however the test binary ends, killed or out of
// time, nothing stays behind. What is in memory need not be shut down in order, which takes ElasticMQ 15 s.
const watch = `exec 3<&0; "$@" 3<&- & pid=$!; (cat <&3; kill -9 $pid) >/dev/null 2>&1 & wait $pid`

func (p *Part) run(command []string, address string) error {
	log, err := os.CreateTemp("", "awstest-*.log")
	if err != nil {
		return err
	}
	p.log = log.Name()
	cmd := exec.Command("/bin/sh", append([]string{"-c", watch, "sh"}, command...)...)
	cmd.Stdout, cmd.Stderr = log, log
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	p.endpoint = "http://" + address
	p.stop = func() { p.end(alive, ended, log) }
	return p.ready(address, ended)
}

func (p *Part) end(alive io.Closer, ended <-chan struct{}, log *os.File) {
	alive.Close()
	<-ended
	log.Close()
	os.Remove(p.log)
}

// ready waits until something listens.
func (p *Part) ready(address string, ended <-chan struct{}) error {
	deadline := time.NewTimer(time.Minute)
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
			return fmt.Errorf("%s is not ready after a minute: %s", p.folder, p.tail())
		case <-tick.C:
		}
	}
}

// tail is the last of what the part printed.
func (p *Part) tail() []byte {
	text, _ := os.ReadFile(p.log)
	return bytes.TrimSpace(text[max(0, len(text)-2000):])
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// jars is the folder that holds a part, in .tools of the module that the test is in.
func jars(name string) (string, error) {
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
	folder := filepath.Join(dir, ".tools", "java", name)
	if found, _ := filepath.Glob(filepath.Join(folder, "*.jar")); len(found) == 0 {
		return "", fmt.Errorf("%s holds no Java programs: run `make tools`, which downloads them with Maven (apt-get install maven, or brew install maven)", folder)
	}
	return folder, nil
}
