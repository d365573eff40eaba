package acceptance_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// canaries holds the planted secrets by what they are, and what the service, its commands and its deliveries have written.
type canaries struct {
	*tenant
	t       *testing.T
	p       *program
	secrets map[string]string
	written []output
}

// output holds something that the service wrote or sent. Its content is a string: the race detector checks every byte of a slice at
// each comparison, which takes a minute for all of them.
type output struct {
	where, content string
}

func (c *canaries) add(where string, content []byte) {
	c.written = append(c.written, output{where, string(content)})
}

// addHeader adds the values of a header.
func (c *canaries) addHeader(where string, header map[string][]string) {
	for name, values := range header {
		c.add("the header "+name+" of "+where, []byte(strings.Join(values, ",")))
	}
}

// call sends a request with the founder's token, keeps its answer, and ends the test if the status differs; 0 is any status.
func (c *canaries) call(status int, method, path string, body any, headers ...string) *answer {
	c.t.Helper()
	a := c.do(method, path, body, headers...)
	c.add("the answer to "+a.request, a.body)
	c.addHeader("the answer to "+a.request, a.header)
	if status == 0 {
		return a
	}
	return a.want(status)
}

// show sends a request whose answer shows a secret by design, which may appear in no other answer. It keeps the header only.
func (c *canaries) show(status int, method, path string, body any, headers ...string) *answer {
	c.t.Helper()
	a := c.do(method, path, body, headers...)
	c.addHeader("the answer to "+a.request, a.header)
	return a.want(status)
}

// files adds every file below a folder that differs from those that were added before.
func (c *canaries) files(when, folder string) {
	c.t.Helper()
	found := 0
	errtest.Must(c.t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		read, err := os.ReadFile(path)
		found++
		content := string(read)
		if !slices.ContainsFunc(c.written, func(o output) bool { return o.content == content }) {
			c.written = append(c.written, output{"the file " + filepath.Base(path) + " " + when, content})
		}
		return err
	}))
	if found == 0 {
		c.t.Errorf("no files in %s, want the store's", folder)
	}
}

// check looks for every secret in all that was written, except where the API shows the secret by design.
func (c *canaries) check() {
	c.t.Helper()
	var f finder
	what := map[string]string{} // by the text
	for name, secret := range c.secrets {
		for form, text := range forms(secret) {
			what[text] = name + " stands " + form
		}
	}
	for text := range what {
		f.add(text)
	}
	for _, o := range c.written {
		if text, at := f.in(o.content); at >= 0 {
			c.t.Errorf("%s in %s at byte %d, want it nowhere", what[text], o.where, at)
		}
	}
}

// finder looks for many texts in one pass: there are gigabytes to compare if each text has its own.
type finder struct {
	begin [1 << 16]bool       // the first two bytes of a text
	texts map[string][]string // by their first four bytes
}

func (f *finder) add(text string) {
	if f.texts == nil {
		f.texts = map[string][]string{}
	}
	f.begin[pair(text)] = true
	f.texts[text[:4]] = append(f.texts[text[:4]], text)
}

// in returns the first text of a content, and where it stands; -1: nowhere.
func (f *finder) in(content string) (text string, at int) {
	for at := 0; at+4 <= len(content); at++ {
		if !f.begin[pair(content[at:])] {
			continue
		}
		for _, text := range f.texts[content[at:at+4]] {
			if strings.HasPrefix(content[at:], text) {
				return text, at
			}
		}
	}
	return "", -1
}

func pair(text string) int { return int(text[0])<<8 | int(text[1]) }

// control checks that the search finds a text in a form of which an output whose name begins with where is known to hold it.
func (c *canaries) control(where, form, text string) {
	c.t.Helper()
	var f finder
	f.add(forms(text)[form])
	for _, o := range c.written {
		if !strings.HasPrefix(o.where, where) {
			continue
		}
		if _, at := f.in(o.content); at >= 0 {
			return
		}
	}
	c.t.Errorf("%q stands %s in no %s, want it there: the search sees nothing", text, form, where)
}

// TestProgram_Canary plants passwords, signing secrets, credentials and tokens in the real program, uses all of them, rightly
// and wrongly, and looks for them in every answer, event, log line, command's output and file. The providers and receivers send
// back everything that they are sent.
func TestProgram_Canary(t *testing.T) {
	t.Setenv("ORGOPS_LOG", "debug")
	p := newProgram(t)
	tn := p.tenant("Aviary", "founder@example.com")
	c := &canaries{tenant: tn, t: t, p: p, secrets: map[string]string{"the first password": tn.Password}}
	p.start()
	tn.login()
	c.secrets["the first token"] = tn.Token

	receivers := c.webhooks()
	c.github()
	c.linear()
	c.sources()
	c.print("", "admin", "company", "plan", "--company", c.ID, "--plan", "enterprise")
	c.users()
	c.signOn()
	receivers = append(receivers, c.commands())
	c.mistakes()
	c.reads()

	c.files("before the kill", p.data)
	p.kill() // what is on disk is what a power cut leaves
	c.files("after the kill", p.data)
	for _, r := range receivers {
		for _, d := range r.deliveries() {
			c.add("the event "+d.Type, d.body)
			d.header.Del("Authorization") // the receiver's own secret header
			c.addHeader("the event "+d.Type, d.header)
		}
	}
	c.add("the log", []byte(p.output.String()))
	c.control("the file ", "in the clear", "Printer on fire")
	c.control("the file ", "in base64 at 0", "inbound.receive")
	c.control("the log", "in the clear", "sync page failed")
	c.control("the event memory.created", "in the clear", "Printer on fire")
	c.check()
}
