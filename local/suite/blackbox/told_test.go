package blackbox_test

import (
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/webhook/slack"
)

// told starts the program with an operator's Slack app, and lets people and machines be told: a person joins by a mail, decides on an
// approval by a button in Slack, and an endpoint hears of what its filter lets through. settings say what the program runs on.
func told(t *testing.T, program string, settings ...string) {
	t.Parallel()
	fake, app := slacktest.New(t), slacktest.App()
	data := filepath.Join(t.TempDir(), "data")
	tg := startProgram(t, program, append(settings, "ORGOPS_DATA="+data, "ORGOPS_SLACK_URL="+fake.URL, "ORGOPS_SLACK_CLIENT_ID="+app.ClientID,
		"ORGOPS_SLACK_CLIENT_SECRET="+app.ClientSecret, "ORGOPS_SLACK_SIGNING_SECRET="+app.SigningSecret)...)
	tell(t, tg, fake, func(address string) string { return codeIn(t, filepath.Join(data, "mails"), address) })
}

// tell is told on a target whose operator has registered the fake Slack's app. code returns the code of the mail to an address, "" until it
// is there. A target without mails has no code: the answer to the invitation brings it.
func tell(t *testing.T, tg *target, fake *slacktest.Slack, code func(address string) string) {
	t.Helper()
	const ada, grace = "ada@told.example", "grace@told.example"
	company, err := tg.createCompany(t.Context(), "Told", ada, password)
	errtest.Must(t, err)
	until := func(ok func() bool) {
		t.Helper()
		errtest.Must(t, poll(t.Context(), tg.every, func() (bool, error) { return ok(), nil }))
	}
	founder, operator := &founder{t: t, base: tg.url, company: company}, &founder{t: t, base: tg.url, company: company}
	founder.login(ada)

	var invited struct{ InvitationToken string }
	founder.call("POST", "/operations/users", object{"email": grace, "role": "operator"}, &invited)
	joins := invited.InvitationToken
	if code != nil {
		until(func() bool { joins = code(grace); return joins != "" })
	}
	operator.send("POST", tg.url+"/auth/invitation", object{"token": joins, "password": password}, nil)
	operator.login(grace)

	r := &receiver{secret: newSecret(), seen: map[string]bool{}}
	listens := httptest.NewServer(r)
	t.Cleanup(listens.Close)
	founder.call("POST", "/integrations/webhook-told", object{
		"url": listens.URL, "events": []string{"approval.*"}, "signingSecret": r.secret, "filter": `.data.state == "approved"`,
	}, nil)
	founder.call("POST", "/integrations/webhook-told/certification", nil, nil)
	founder.installs(fake)

	first := founder.asks("The office moves")
	until(func() bool { return len(fake.Messages()) == 1 })
	press(t, fake, tg.url, company, slack.Reject, first) // Slack's user is no user of ours yet
	link := regexp.MustCompile(`#/slack/([^?|>]+)`).FindStringSubmatch(fake.Whispers()[0])
	if link == nil {
		t.Fatalf("%q has no code that links", fake.Whispers()[0])
	}
	operator.call("POST", "/notices/slack", object{"code": link[1], "confirm": true}, nil)
	press(t, fake, tg.url, company, slack.Reject, first)
	second := founder.asks("The office stays")
	until(func() bool { return len(fake.Messages()) == 2 })
	press(t, fake, tg.url, company, slack.Approve, second)

	for approvalID, want := range map[string]string{first: "rejected", second: "approved"} {
		var got struct{ State string }
		founder.call("GET", "/operations/approvals/"+approvalID, nil, &got)
		if got.State != want {
			t.Errorf("the approval is %s, want %s", got.State, want)
		}
	}
	until(func() bool { return len(fake.Messages()[0].Buttons())+len(fake.Messages()[1].Buttons()) == 0 })
	if got := fake.Messages()[1].Texts(); !strings.Contains(got, "Approved by "+grace) {
		t.Errorf("the message does not say who approved:\n%s", got)
	}
	var heard []delivery
	until(func() bool { heard = append(heard, r.take(false)...); return len(heard) > 0 })
	for _, d := range heard {
		if d.Type != "approval.decided" {
			t.Errorf("the endpoint heard of %s, want approval.decided", d.Type)
		}
		if !strings.Contains(string(d.body), second) {
			t.Errorf("the endpoint heard %s, want the approved one alone", d.body)
		}
	}
	founder.call("DELETE", "/operations/channels/slack", nil, nil)
	if !fake.Revoked() {
		t.Error("the token of the Slack app was not revoked")
	}
	for _, secret := range []string{slacktest.Token, joins} {
		if strings.Contains(tg.log(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func (f *founder) login(email string) {
	f.t.Helper()
	f.send("POST", f.base+"/auth/login", object{"email": email, "password": password}, &f.session)
}

// installs installs the Slack app in the browser, and has notes about the office need an approval of a person.
func (f *founder) installs(fake *slacktest.Slack) {
	f.t.Helper()
	var begun struct{ URL string }
	f.call("POST", "/operations/channels/slack/connect", nil, &begun)
	_, state, _ := strings.Cut(begun.URL, "state=")
	end := f.send("GET", f.base+"/auth/slack/callback?code="+slacktest.Code+"&state="+state, nil, nil).Get("Location")
	if !strings.HasPrefix(begun.URL, fake.URL) {
		f.t.Errorf("the installation began at %s, want Slack's address", begun.URL)
	}
	if !strings.HasSuffix(end, "slack=installed") {
		f.t.Fatalf("the installation ended at %s", end)
	}
	f.call("PUT", "/operations/channels/slack", object{"channel": slacktest.Channel, "kinds": []string{"approval"}}, nil)
	f.call("PUT", "/operations/policies", object{"policies": []object{{"id": "office", "mode": "enforce", "text": office}}}, nil)
}

// asks has an executive ask for a note about the office, and returns the id of the approval that it needs.
func (f *founder) asks(title string) (approvalID string) {
	f.t.Helper()
	var people struct{ Items []struct{ ID, Role string } }
	f.call("GET", "/operations/users", nil, &people)
	owner := people.Items[0].ID
	var made struct{ ID string }
	f.call("POST", "/executives", object{"name": "Chief " + title, "role": "Keeps order", "owner": owner, "actions": []string{"timeline.note"}, "quotaPerDay": 10}, &made)
	f.call("POST", "/executives/"+made.ID+"/certification", nil, nil)
	var waits struct{ ApprovalID string }
	f.call("POST", "/executives/"+made.ID+"/actions", object{"action": "timeline.note", "input": object{"title": title, "subject": "office"}}, &waits)
	return waits.ApprovalID
}

// press has a person press a button of Slack's message. Slack sends the press signed.
func press(t *testing.T, fake *slacktest.Slack, base, company, action, approvalID string) {
	t.Helper()
	p := slacktest.Pressed("UGRACE", action, slack.Value(company, approvalID), time.Now())
	resp, err := http.DefaultTransport.RoundTrip(fake.Request(p, base+"/slack/interactions/app"))
	errtest.Must(t, err)
	errtest.Must(t, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("a press is answered %d, want 200", resp.StatusCode)
	}
}

// codeIn returns the code of the mail to an address in the folder of a trial's mails, "" without one.
func codeIn(t *testing.T, folder, to string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.eml"))
	errtest.Must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		errtest.Must(t, err)
		text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(string(raw))))
		errtest.Must(t, err)
		_, rest, found := strings.Cut(string(text), "Your code, for one use:")
		if fields := strings.Fields(rest); found && strings.Contains(string(text), to) {
			return fields[0]
		}
	}
	return ""
}
