package operations

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/operations/approvals"
	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/slack"
)

// anyCompany stands in the path for the company that a button names, because a Slack app has one address for all workspaces.
const anyCompany = "app"

const slackForm = "application/x-www-form-urlencoded"

// maxPress limits a request of Slack, in bytes.
const maxPress = 256 << 10

func (d Deps) registerSlackPress(api huma.API) {
	op := web.Unaudited(web.Public(huma.Operation{
		OperationID: "receive-slack-press", Method: http.MethodPost, Path: "/slack/interactions/{id}", Tags: []string{"operations"}, DefaultStatus: http.StatusOK,
		Summary: "Receive a pressed button from Slack",
		Description: "The request URL of the Slack app, with app in place of the company. Authenticated by Slack's signature over the time and the raw body, not older than five minutes; " +
			"a copy has no effect. The press of a linked user decides by the same operation as the API, before the answer. A user who is not linked, or may not decide, is told so alone.",
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden}, MaxBodyBytes: maxPress,
		Extensions: map[string]any{"x-internal": true}, // Slack alone sends it, so generated clients leave it out
	}), "the operation that decides is recorded, with the linked user")
	web.Register(api, web.DescribeBody(web.Challenge(op, "Slack-Signature"), web.Body{Media: slackForm, Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"payload"}, Properties: map[string]*huma.Schema{"payload": {Type: huma.TypeString, Description: "The interaction, JSON"}},
	}}), d.receivePress)
}

type pressInput struct {
	ID        string `path:"id" maxLength:"64" doc:"app, or the company's id" example:"app"`
	Timestamp string `header:"X-Slack-Request-Timestamp" doc:"When Slack sent the request, in seconds since 1970"`
	Signature string `header:"X-Slack-Signature" doc:"Slack's signature"`
	RawBody   []byte `contentType:"application/x-www-form-urlencoded"`
}

// press holds what this service reads of an interaction (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
type press struct {
	Type        string              `json:"type"`
	AppID       string              `json:"api_app_id"`
	Team        struct{ ID string } `json:"team"`
	ResponseURL string              `json:"response_url"`
	User        struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		TeamID   string `json:"team_id"`
	} `json:"user"`
	Actions []struct {
		Action string `json:"action_id"`
		Value  string `json:"value"`
	} `json:"actions"`
}

// receivePress verifies the signature before it parses anything, and decides before it answers. So a press that Slack shows as taken
// has been decided, and one whose process ended before has no answer, and can be pressed again.
func (d Deps) receivePress(ctx context.Context, in *pressInput) (*struct{}, error) {
	app, err := d.app(ctx)
	if err != nil && fault.KindOf(err) != fault.Conflict {
		return nil, err
	}
	if !app.Verify(web.RequestHeaders(ctx), in.RawBody, d.Now()) {
		return nil, fault.New(fault.Unauthenticated, "the request is not signed by Slack, or its time is more than five minutes off")
	}
	form, err := url.ParseQuery(string(in.RawBody))
	var p press
	if err != nil || json.Unmarshal([]byte(form.Get("payload")), &p) != nil {
		return nil, fault.New(fault.Malformed, "the body is not an interaction of Slack")
	}
	if p.Type != "block_actions" || len(p.Actions) != 1 || p.Actions[0].Action != slack.Approve && p.Actions[0].Action != slack.Reject {
		return nil, nil //nolint:nilnil // an interaction that has no effect here, such as a link's
	}
	companyID, approvalID := slack.Split(p.Actions[0].Value)
	if in.ID != anyCompany && in.ID != companyID || !id.Valid(companyID) || !id.Valid(approvalID) {
		return nil, fault.New(fault.Forbidden, "the button belongs to another company")
	}
	return nil, d.takePress(ctx, store.For(d.Store, companyID), approvalID, p, in.Signature)
}

// takePress decides as the linked user. It has an effect once for each request, whose copies have its signature.
func (d Deps) takePress(ctx context.Context, c store.Company, approvalID string, p press, signature string) error {
	var to notice.SlackSettings
	if _, err := notice.LoadChannel(ctx, c, notice.Slack, &to); err != nil {
		return store.Fault(err, "")
	}
	if to.App == nil || to.App.ID != p.AppID || to.App.Team != p.Team.ID || p.User.ID == "" || p.User.TeamID != p.Team.ID {
		return fault.New(fault.Forbidden, "the press comes from another workspace than the one where the app is installed")
	}
	halted := user.Halted(ctx, c)
	if fault.KindOf(halted) == fault.Suspended {
		d.whisper(ctx, c, p, "Not decided: the company is suspended. Ask the operator of the service.")
		return nil
	}
	if halted != nil {
		return halted
	}
	err := c.Commit(ctx, notice.Pressed(c, signature, d.Now().Add(2*slack.Tolerance)))
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err != nil {
		return store.Fault(err, "")
	}
	who := notice.SlackUser{Team: p.Team.ID, ID: p.User.ID, Name: notice.Plain(p.User.Username)}
	said, err := d.pressed(ctx, c, approvalID, p.Actions[0].Action, who, to.App.TeamName)
	if err != nil {
		return err
	}
	d.whisper(ctx, c, p, said)
	return nil
}

// whisper tells the person who pressed. It fails nothing, because the message itself shows the decision.
func (d Deps) whisper(ctx context.Context, c store.Company, p press, said string) {
	if err := d.Slack.Whisper(ctx, p.ResponseURL, said); err != nil {
		d.Logger.WarnContext(ctx, "answer to a press in Slack not sent", "company", c.ID(), "error", err)
	}
}

// pressed decides, and returns what the person who pressed is told.
func (d Deps) pressed(ctx context.Context, c store.Company, approvalID, action string, who notice.SlackUser, workspace string) (said string, err error) {
	link, version, err := notice.LoadSlackLink(ctx, c, who)
	if err != nil {
		return "", store.Fault(err, "")
	}
	u := user.User{}
	if version > 0 {
		if u, _, err = company.GetUser(ctx, c, link.UserID); err != nil && fault.KindOf(err) != fault.NotFound {
			return "", err
		}
	}
	if u.State != user.Active {
		return d.askToLink(ctx, c, who, workspace, "this service does not know you here")
	}
	login, err := company.LoginOf(ctx, d.Store, c.ID(), u)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return "", err
	}
	if login.Generation != link.Generation {
		return d.askToLink(ctx, c, who, workspace, "since you linked yourself, you have signed out everywhere, or have a new password or other rights")
	}
	weak, err := tooWeak(ctx, c, link)
	if err != nil {
		return "", err
	}
	if weak {
		return d.askToLink(ctx, c, who, workspace, "the company requires a second factor, and you linked yourself without one; log in with it now")
	}
	answer, err := web.CallAs(ctx, token.Claims{
		Subject: u.ID, Company: c.ID(), Role: string(u.Role), Scopes: u.Role.Scopes(), Provider: u.Provider, Generation: link.Generation,
	}, http.MethodPost, "/operations/approvals/"+approvalID+"/"+action, nil, nil)
	if err != nil {
		return "", err
	}
	return d.tellPress(ctx, c, approvalID, answer)
}

// tooWeak reports whether the company requires a second factor and the session that made the link had none.
func tooWeak(ctx context.Context, c store.Company, link notice.SlackLink) (bool, error) {
	if link.Strong {
		return false, nil
	}
	is, _, err := company.Get(ctx, c)
	return is.SecondFactor, err
}

// tellPress says what came of a press.
func (d Deps) tellPress(ctx context.Context, c store.Company, approvalID string, answer web.Answer) (said string, err error) {
	switch {
	case answer.Status == http.StatusOK, answer.Status == http.StatusConflict:
		a, _, err := approvals.Load(ctx, c, approvalID)
		if err != nil {
			return "", err
		}
		if a = a.AsOf(d.Now()); a.State != approval.Pending {
			return slack.Outcome(a, ""), nil
		}
	case answer.Status >= http.StatusInternalServerError:
		return "", fault.New(fault.Unavailable, "the decision could not be made; press again")
	}
	var problem struct{ Detail string }
	if json.Unmarshal(answer.Body, &problem) != nil || problem.Detail == "" {
		problem.Detail = "press again, or decide in the console"
	}
	return "Not decided: " + slack.Escape(problem.Detail, 1000), nil
}

// askToLink makes the code that links the person, and returns the text with its address, and why. Only the person who pressed gets it.
func (d Deps) askToLink(ctx context.Context, c store.Company, who notice.SlackUser, workspace, why string) (said string, err error) {
	text, op := notice.NewSlackCode(c, notice.SlackCode{SlackUser: who, Workspace: workspace, Until: d.Now().Add(notice.SlackCodeLifetime).UTC()})
	if err := c.Commit(ctx, op); err != nil {
		return "", store.Fault(err, "")
	}
	return "Not decided yet: " + why + ". <" + d.Base + "/console/index.html#/slack/" + text + "?company=" + c.ID() + "|Sign in to this service once>, within ten minutes, and then press again.", nil
}
