// Package mailbox keeps the mails of a trial in a folder and shows them on a page. Only a process that this machine alone reaches serves
// the page, because mails hold codes.
package mailbox

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	contract "orgops/shared/storage/mail"
	"orgops/shared/storage/mail/mailform"
)

// Path locates the page.
const Path = "/mails"

// most limits the mails that are kept, the newest.
const most = 200

// Folder is a mail.Sender that keeps mails as files.
type Folder struct{ path string }

// Open makes a Folder, and the folder if it is missing.
func Open(path string) (*Folder, error) {
	return &Folder{path}, os.MkdirAll(path, 0o700)
}

// Send implements mail.Sender. A mail that is sent again replaces the first copy.
func (f *Folder) Send(_ context.Context, m contract.Message) error {
	text, err := mailform.Bytes(mail.Address{Name: "Orgops", Address: "orgops@localhost.invalid"}, m)
	if err != nil {
		return err
	}
	made, err := os.CreateTemp(f.path, "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(made.Name())
	if _, err = made.Write(text); err != nil {
		return errors.Join(err, made.Close())
	}
	if err := errors.Join(made.Sync(), made.Close()); err != nil {
		return err
	}
	if err := os.Rename(made.Name(), filepath.Join(f.path, m.ID+".eml")); err != nil {
		return err
	}
	return f.trim()
}

// names lists the mails, the newest first: their ids begin with their times.
func (f *Folder) names() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(f.path, "*.eml"))
	slices.Sort(files)
	slices.Reverse(files)
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".eml")
	}
	return files, err
}

func (f *Folder) trim() error {
	names, err := f.names()
	for _, name := range names[min(len(names), most):] {
		err = errors.Join(err, os.Remove(filepath.Join(f.path, name+".eml")))
	}
	return err
}

// Shown holds a mail of the folder.
type Shown struct {
	ID, To, Subject, Date string
	Text, HTML            string
}

func (f *Folder) read(name string) (Shown, error) {
	text, err := os.ReadFile(filepath.Join(f.path, name+".eml")) //nolint:gosec // find lets nothing but a UUID be a name
	if err != nil {
		return Shown{}, err
	}
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return Shown{}, err
	}
	var words mime.WordDecoder
	s := Shown{ID: name, To: m.Header.Get("To"), Date: m.Header.Get("Date")}
	if s.Subject, err = words.DecodeHeader(m.Header.Get("Subject")); err != nil {
		return s, err
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return s, err
	}
	return s, s.parts(multipart.NewReader(m.Body, params["boundary"]))
}

func (s *Shown) parts(r *multipart.Reader) error {
	for {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return err
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			s.HTML = string(text)
		} else {
			s.Text = string(text)
		}
	}
}

//go:embed page.html
var source string

var page = template.Must(template.New("page").Parse(source)) //nolint:gochecknoglobals // parsed once, and never changed

// policy lets the page load nothing; a mail is shown in a frame without scripts.
const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// ServeHTTP shows the list, a mail (/mails/<id>), or a mail as HTML (/mails/<id>.html).
func (f *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r) {
		http.Error(w, "the mails are shown to a browser on this machine alone; open the address by hand", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	id, asHTML := strings.CutSuffix(name, ".html")
	var view struct {
		One *Shown
		All []Shown
	}
	if name != "" {
		one, err := f.find(id)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if asHTML {
			_, _ = io.WriteString(w, one.HTML)
			return
		}
		view.One = &one
	} else if names, err := f.names(); err == nil {
		for _, name := range names {
			if one, err := f.read(name); err == nil {
				view.All = append(view.All, one)
			}
		}
	}
	_ = page.Execute(w, view)
}

// find reads the mail with an id. Ids are UUIDs, so none leads out of the folder.
func (f *Folder) find(id string) (Shown, error) {
	if len(id) != 36 || uuid.Validate(id) != nil {
		return Shown{}, os.ErrNotExist
	}
	return f.read(id)
}

// local refuses the request of another site's page, also by a name that leads to this machine.
func local(r *http.Request) bool {
	u := url.URL{Host: r.Host}
	a, err := netip.ParseAddr(u.Hostname())
	here := u.Hostname() == "localhost" || err == nil && a.IsLoopback()
	site := r.Header.Get("Sec-Fetch-Site")
	return here && r.Header.Get("Origin") == "" && (site == "" || site == "none" || site == "same-origin")
}
