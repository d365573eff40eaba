package auth

import (
	"context"
	_ "embed"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

//go:embed unsubscribe.html
var unsubscribePage string

// unsubscribeForm is the button of the page that asks.
const unsubscribeForm = `<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button>Stop these mails</button></form>`

// maxClick limits the body of a click in bytes.
const maxClick = 1 << 10

// registerUnsubscribe adds the operations that end the mails of a kind by one click (RFC 8058). A mail program sends no token and no cookie.
func (d Deps) registerUnsubscribe(api huma.API) {
	hidden := map[string]any{"x-internal": true} // mail programs and browsers alone send them, so generated clients leave them out
	page := func(example string) map[string]*huma.Response {
		return map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"text/html": {Schema: &huma.Schema{Type: huma.TypeString}, Example: example},
		}}}
	}
	web.Register(api, web.AuditedWrites(web.Public(huma.Operation{
		OperationID: "ask-unsubscribe", Method: http.MethodGet, Path: notice.StopPath + "{token}", Tags: []string{"auth"}, Responses: page("<h1>Stop the brief?</h1>"),
		Summary:     "Show what a link of a mail ends",
		Description: "A page with a button. It changes nothing: programs fetch the links of mails.",
		Errors:      []int{http.StatusNotFound}, Extensions: hidden,
	})), d.askUnsubscribe)
	web.Register(api, web.DescribeBody(web.Audited(web.Public(huma.Operation{
		OperationID: "unsubscribe", Method: http.MethodPost, Path: notice.StopPath + "{token}", Tags: []string{"auth"}, Responses: page("<h1>The brief has ended</h1>"),
		Summary: "End the mails of a kind by one click",
		Description: "The target of List-Unsubscribe (RFC 8058): ends the mails of one kind, the brief or alerts, to one person. A repeat has no effect. The token does not expire; choosing " +
			"the kind again revokes it. A try counts as one of the network's 100 a minute, as a login does.",
		Errors: []int{http.StatusNotFound, http.StatusTooManyRequests}, MaxBodyBytes: maxClick, Extensions: hidden,
	})), oneClick()), d.unsubscribe)
}

// oneClick documents the form that a mail program sends, of this media type or as multipart/form-data (RFC 8058 §3.2).
func oneClick() web.Body {
	return web.Body{Media: "application/x-www-form-urlencoded", Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"List-Unsubscribe"}, Properties: map[string]*huma.Schema{
			"List-Unsubscribe": {Type: huma.TypeString, Description: "One-Click"},
		},
	}}
}

// StopInput holds the path parameter of both operations.
type StopInput struct {
	Token string `path:"token" maxLength:"256" doc:"the token of the mail's link"`
}

type clickInput struct {
	StopInput
	RawBody []byte `contentType:"application/x-www-form-urlencoded"`
}

type stopOutput struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Policy       string `header:"Content-Security-Policy" hidden:"true"`
	Body         []byte
}

func (d Deps) askUnsubscribe(_ context.Context, in *StopInput) (*stopOutput, error) {
	s, err := notice.ParseStop(in.Token)
	if err != nil {
		return nil, err
	}
	return stopPage("Stop "+named(s.Kind)+"?", "No mails of this kind come to you then. You can choose them again when you are signed in.", unsubscribeForm), nil
}

func (d Deps) unsubscribe(ctx context.Context, in *clickInput) (*stopOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	s, err := notice.ParseStop(in.Token)
	if err != nil {
		return nil, err
	}
	c := store.For(d.Store, s.Company)
	if err := s.Verify(ctx, c); err != nil {
		return nil, err
	}
	web.Identify(ctx, c, web.Caller{UserID: s.UserID, Company: s.Company})
	if err := s.Take(ctx, store.For(web.Recorded(ctx, d.Store), s.Company), d.Now()); err != nil {
		return nil, err
	}
	return stopPage("Stopped: "+named(s.Kind), "No more mails of this kind come to you. You can choose them again when you are signed in.", ""), nil
}

// named names a kind for its reader.
func named(k notice.Kind) string {
	if k == notice.Brief {
		return "the brief"
	}
	return "alerts"
}

// stopPage returns the page with texts of ours. html/template would call methods by name, so that the linker kept all of them: 5 MB.
func stopPage(title, text, form string) *stopOutput {
	return &stopOutput{
		ContentType: "text/html; charset=utf-8", CacheControl: "no-store",
		Body:   []byte(strings.NewReplacer("{title}", title, "{text}", text, "{form}", form).Replace(unsubscribePage)),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	}
}
