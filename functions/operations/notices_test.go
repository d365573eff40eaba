package operations_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

type notices struct {
	Items []notice.Notice
}

// An invitation comes with a notice in the same commit, whose stored form does not show the token.
func TestNotices_Invitation(t *testing.T) {
	t.Parallel()
	h := office(t)
	var invited struct{ ID, InvitationToken string }
	invite(h, h.A.Token, object{"email": "grace@acme.test", "role": user.Member}).Want(201).JSON(&invited)
	path := "/companies/" + h.A.ID + "/notices"
	var got notices
	body := h.Do("GET", path, h.A.Token, nil).Want(200).JSON(&got).Body
	if len(got.Items) != 1 {
		t.Fatalf("notices = %s, want one", body)
	}
	n := got.Items[0]
	if diff := cmp.Diff([]any{invited.ID, notice.Waiting, notice.Invitation}, []any{n.UserID, n.State, n.Name}); diff != "" {
		t.Errorf("notice differs (-want +got):\n%s", diff)
	}
	stored, err := store.For(h.Store, h.A.ID).Get(t.Context(), notice.Key(got.Items[0].ID), nil)
	errtest.Must(t, err)
	secret := invited.InvitationToken[strings.LastIndexByte(invited.InvitationToken, '.')+1:]
	for name, text := range map[string]string{"the answer": string(body), "the store": string(stored.Body)} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows the invitation's token: %s", name, text)
		}
	}
	h.Do("GET", path+"?state=sent", h.A.Token, nil).Want(200).JSON(&got)
	if len(got.Items) != 0 {
		t.Errorf("sent notices = %+v, want none yet", got.Items)
	}
	h.Do("GET", path, h.A.Token, nil).Want(200)
	h.Do("GET", "/companies/"+h.B.ID+"/notices", h.A.Token, nil).Want(403)
}

func preferences(zone string, alert ...string) object {
	return object{"timeZone": zone, "channels": object{"security": []string{"mail"}, "approval": []string{"mail"}, "alert": append([]string{}, alert...)}}
}

// wantDue fails the test unless there is a timer of a kind about a subject.
func wantDue(t *testing.T, h *webtest.Harness, kind, subject string) {
	t.Helper()
	for shard := range store.DueShards {
		for item, err := range store.Items(t.Context(), h.Store, store.Due(shard), store.Query{}) {
			var timer store.Timer
			errtest.Must(t, errors.Join(err, item.Decode(&timer)))
			if timer.Kind+" "+timer.Subject == kind+" "+subject {
				return
			}
		}
	}
	t.Errorf("there is no timer %s of %s", kind, subject)
}

// Each person, also one with the smallest role, reads and replaces the own preferences alone.
func TestNoticePreferences(t *testing.T) {
	t.Parallel()
	h := office(t)
	path := "/companies/" + h.A.ID + "/notices/preferences"
	ada, bob := h.A.Token, h.UserToken(h.A.ID, id.New(), user.Member)
	var got notice.Preferences
	before := h.Do("GET", path, ada, nil).Want(200).JSON(&got)
	if diff := cmp.Diff(notice.Defaults(), got); diff != "" {
		t.Errorf("preferences of a person who chose none differ from the defaults (-want +got):\n%s", diff)
	}
	chosen := preferences("Europe/Berlin")
	chosen["quiet"] = object{"from": "22:00", "to": "07:00"}
	tag := before.Header.Get("ETag")
	stored := h.Do("PUT", path, ada, chosen, "If-Match", tag).Want(200).Header.Get("ETag")
	h.Do("PUT", path, ada, chosen, "If-Match", tag).WantProblem(412, "stale")
	after := h.Do("GET", path, ada, nil).Want(200).JSON(&got)
	if read := after.Header.Get("ETag"); read != stored {
		t.Errorf("ETag = %s, want %s as PUT answered", read, stored)
	}
	mail := []notice.Channel{notice.Mail}
	want := notice.Preferences{
		TimeZone: "Europe/Berlin", Quiet: &notice.Quiet{From: "22:00", To: "07:00"},
		Channels: notice.Channels{Security: mail, Approval: mail, Alert: []notice.Channel{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preferences differ from those that were stored (-want +got):\n%s", diff)
	}
	chosen["brief"] = object{"at": "07:30", "days": []string{"monday"}}
	h.Do("PUT", path, ada, chosen).Want(200)
	h.Do("GET", path, ada, nil).Want(200).JSON(&got)
	want.Brief = &notice.BriefTimes{At: "07:30", Days: []string{"monday"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preferences with a brief differ from those that were stored (-want +got):\n%s", diff)
	}
	wantDue(t, h, notice.BriefTimer, h.A.UserID+"@2")
	h.Do("PUT", path, h.UserToken(h.A.ID, id.New(), user.Operator), chosen).WantProblem(422, "invalid")
	demoted := h.UserToken(h.A.ID, h.A.UserID, user.Operator)
	var shown notice.Preferences
	h.Do("GET", path, demoted, nil).Want(200).JSON(&shown)
	h.Do("PUT", path, demoted, shown).Want(200) // what a person is shown can be stored
	h.Do("PUT", path, ada, chosen).Want(200)
	delete(chosen, "brief")
	h.Do("PUT", path, h.BoundToken(h.A.ID, "github"), chosen).Want(200)
	h.Do("PUT", path, bob, preferences("UTC", "mail")).Want(200)
	h.Do("GET", path, ada, nil).Want(200).JSON(&got)
	if got.TimeZone != "Europe/Berlin" {
		t.Errorf("another person's choice changed the preferences: %+v", got)
	}
}

// A founder chooses what people are told who have chosen nothing. What a person has chosen wins.
func TestNoticeDefaults(t *testing.T) {
	t.Parallel()
	h := office(t)
	at, own := "/companies/"+h.A.ID+"/notices/defaults", "/companies/"+h.A.ID+"/notices/preferences"
	bob, kim := h.UserToken(h.A.ID, id.New(), user.Member), h.UserToken(h.A.ID, id.New(), user.Operator)
	zone := func(bearer, at string) (p notice.Preferences, tag string) {
		t.Helper()
		tag = h.Do("GET", at, bearer, nil).Want(200).JSON(&p).Header.Get("ETag")
		return p, tag
	}
	first, tag := zone(h.A.Token, at)
	if diff := cmp.Diff(notice.Defaults(), first); diff != "" {
		t.Errorf("the defaults of a company that chose none differ (-want +got):\n%s", diff)
	}
	h.Do("PUT", own, bob, preferences("Asia/Tokyo")).Want(200)
	_, before := zone(kim, own)
	chosen := preferences("Europe/Berlin", "mail")
	chosen["brief"] = object{"at": "07:30", "days": []string{"monday"}}
	for name, bearer := range map[string]string{"a member": bob, "an operator": kim, "another company": h.B.Token} {
		if got := h.Do("PUT", at, bearer, chosen).Status; got != 403 {
			t.Errorf("%s chooses the defaults: status %d, want 403", name, got)
		}
	}
	h.Do("PUT", at, h.A.Token, preferences("Mars/Olympus")).WantProblem(422, "invalid")
	h.Do("PUT", at, h.A.Token, chosen, "If-Match", tag).Want(200)
	h.Do("PUT", at, h.A.Token, chosen, "If-Match", tag).WantProblem(412, "stale")
	wantDue(t, h, notice.BriefTimer, "@1")
	ada, _ := zone(h.A.Token, own)
	kims, after := zone(kim, own)
	bobs, _ := zone(bob, own)
	if diff := cmp.Diff([]string{"Europe/Berlin", "Europe/Berlin", "Asia/Tokyo"}, []string{ada.TimeZone, kims.TimeZone, bobs.TimeZone}); diff != "" {
		t.Errorf("the zones of ada, kim and bob differ (-want +got):\n%s", diff)
	}
	if kims.Brief != nil {
		t.Errorf("an operator, who does not read the brief, has %+v", kims.Brief)
	}
	if ada.Brief == nil {
		t.Error("a founder who has chosen nothing has no brief")
	}
	if before == after {
		t.Errorf("the entity tag %s stays when the defaults change", after)
	}
	h.Do("PUT", own, kim, kims, "If-Match", after).Want(200)
	h.Do("PUT", own, kim, kims, "If-Match", after).WantProblem(412, "stale")
}

// A person who takes back the own choice follows the company's defaults, also when they change. What was stored keeps a version of its own, so
// that no timer of former preferences counts.
func TestNoticePreferences_Deleted(t *testing.T) {
	t.Parallel()
	h := office(t)
	own, shared := "/companies/"+h.A.ID+"/notices/preferences", "/companies/"+h.A.ID+"/notices/defaults"
	c, ada := store.For(h.Store, h.A.ID), h.A.Token
	zone := func() (string, string) {
		t.Helper()
		var p notice.Preferences
		tag := h.Do("GET", own, ada, nil).Want(200).JSON(&p).Header.Get("ETag")
		return p.TimeZone + " " + fmt.Sprint(p.Channels.Alert), tag
	}
	h.Do("DELETE", own, ada, nil).Want(204)
	if _, err := c.Get(t.Context(), notice.PreferencesKey(h.A.UserID), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("taking back nothing stores something: %v", err)
	}
	chosen := preferences("Asia/Tokyo")
	chosen["brief"] = object{"at": "07:30", "days": []string{"monday"}}
	tag := h.Do("PUT", own, ada, chosen).Want(200).Header.Get("ETag")
	h.Do("PUT", own, ada, chosen).Want(200)
	h.Do("DELETE", own, ada, nil, "If-Match", tag).WantProblem(412, "stale")
	h.Do("DELETE", own, ada, nil).Want(204)
	h.Do("DELETE", own, ada, nil).Want(204)
	before, held := zone()
	h.Do("PUT", shared, ada, preferences("Europe/Berlin", "mail")).Want(200)
	after, fresh := zone()
	if diff := cmp.Diff([]string{"UTC [mail]", "Europe/Berlin [mail]"}, []string{before, after}); diff != "" {
		t.Errorf("preferences before and after a change of the defaults differ (-want +got):\n%s", diff)
	}
	if held == fresh {
		t.Errorf("the entity tag %s stays when the defaults change", fresh)
	}
	for _, version := range []string{"1", "2", "3"} {
		ops, err := notice.Briefed(t.Context(), c, store.Timer{At: time.Now(), Company: h.A.ID, Kind: notice.BriefTimer, Subject: h.A.UserID + "@" + version}, time.Now())
		errtest.Must(t, err)
		if len(ops) > 0 {
			t.Errorf("a timer of version %s has an effect: %v", version, ops)
		}
	}
	h.Do("PUT", own, ada, chosen, "If-Match", fresh).Want(200)
	wantDue(t, h, notice.BriefTimer, h.A.UserID+"@4")
}

func TestNoticePreferences_Refused(t *testing.T) {
	t.Parallel()
	h := office(t)
	with := func(edit func(all, channels object)) object {
		p := preferences("UTC")
		edit(p, p["channels"].(object))
		return p
	}
	for pointer, body := range map[string]object{
		"/brief/days":        with(func(p, _ object) { p["brief"] = object{"at": "07:30", "days": []string{}} }),
		"/brief/at":          with(func(p, _ object) { p["brief"] = object{"at": "7:30", "days": []string{"monday"}} }),
		"/timeZone":          with(func(p, _ object) { p["timeZone"] = "Mars/Olympus" }),
		"/quiet/to":          with(func(p, _ object) { p["quiet"] = object{"from": "22:00", "to": "22:00"} }),
		"/quiet/from":        with(func(p, _ object) { p["quiet"] = object{"from": "24:00", "to": "07:00"} }),
		"/channels/security": with(func(_, c object) { c["security"] = []string{} }),
		"/channels/approval": with(func(_, c object) { c["approval"] = []string{} }),
		"/channels/alert/0":  with(func(_, c object) { c["alert"] = []string{"pigeon"} }),
	} {
		p := h.Do("PUT", "/companies/"+h.A.ID+"/notices/preferences", h.A.Token, body).WantProblem(422, "invalid")
		var at []string
		for _, problem := range p.Errors {
			at = append(at, problem.Pointer)
		}
		if diff := cmp.Diff([]string{pointer}, at); diff != "" {
			t.Errorf("pointers of the problems differ (-want +got):\n%s", diff)
		}
	}
}
