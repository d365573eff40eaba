package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// click sends what a mail program sends, without a cookie or a token.
func click(t *testing.T, h *webtest.Harness, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	return post(t, h, method, path, "application/x-www-form-urlencoded", "List-Unsubscribe=One-Click")
}

func post(t *testing.T, h *webtest.Harness, method, path, media, form string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", media)
	r.RemoteAddr = "198.51.100.7:1"
	w := httptest.NewRecorder()
	h.Server.ServeHTTP(w, r)
	return w
}

// mailed returns the path that a mail of a kind to the harness's user has.
func mailed(t *testing.T, h *webtest.Harness, k notice.Kind) string {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	var box notice.Box
	item, _ := c.Get(t.Context(), notice.BoxKey(h.A.UserID), &box)
	token := box.Token(notice.Stop{Company: h.A.ID, UserID: h.A.UserID, Kind: k})
	errtest.Must(t, c.Commit(t.Context(), box.Save(c, h.A.UserID, item.Version)))
	return notice.StopPath + token
}

// wanted lists the kinds that still come by mail.
func wanted(t *testing.T, h *webtest.Harness) (all []notice.Kind) {
	t.Helper()
	p, _, err := notice.LoadPreferences(t.Context(), store.For(h.Store, h.A.ID), h.A.UserID)
	errtest.Must(t, err)
	for _, k := range []notice.Kind{notice.Security, notice.Approval, notice.Alert, notice.Brief} {
		if p.Wants(k, notice.Mail) {
			all = append(all, k)
		}
	}
	return all
}

// TestUnsubscribe ends one kind of mails by one click. Fetching the link ends nothing, however often.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	c := store.For(h.Store, h.A.ID)
	p := notice.Defaults()
	p.Brief = &notice.BriefTimes{At: "07:30", Days: []string{"monday"}}
	errtest.Must(t, c.Commit(t.Context(), p.Store(c, h.A.UserID, 0, clock.Now())...))
	alerts, brief := mailed(t, h, notice.Alert), mailed(t, h, notice.Brief)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		if got := click(t, h, method, alerts).Code; got != 200 {
			t.Errorf("%s: status = %d, want 200", method, got)
		}
	}
	page := click(t, h, http.MethodGet, alerts)
	if !strings.Contains(page.Body.String(), "<form method=\"post\">") {
		t.Errorf("the page has no button:\n%s", page.Body)
	}
	if diff := cmp.Diff([]notice.Kind{notice.Security, notice.Approval, notice.Alert, notice.Brief}, wanted(t, h)); diff != "" {
		t.Errorf("kinds after fetching the link differ (-want +got):\n%s", diff)
	}
	for range 2 {
		if got := click(t, h, http.MethodPost, alerts); got.Code != 200 {
			t.Errorf("status = %d, want 200: %s", got.Code, got.Body)
		}
	}
	if diff := cmp.Diff([]notice.Kind{notice.Security, notice.Approval, notice.Brief}, wanted(t, h)); diff != "" {
		t.Errorf("kinds after the click differ (-want +got):\n%s", diff)
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n"
	if got := post(t, h, http.MethodPost, brief, "multipart/form-data; boundary=b", form); got.Code != 200 {
		t.Errorf("multipart: status = %d, want 200: %s", got.Code, got.Body)
	}
	if diff := cmp.Diff([]notice.Kind{notice.Security, notice.Approval}, wanted(t, h)); diff != "" {
		t.Errorf("kinds after both clicks differ (-want +got):\n%s", diff)
	}
}

// TestUnsubscribe_Follows ends one kind for a person who has chosen nothing. In all else the person goes on to follow the company's defaults.
func TestUnsubscribe_Follows(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	c := store.For(h.Store, h.A.ID)
	defaults := func(version int64, zone string, alert ...notice.Channel) {
		p := notice.Defaults()
		p.TimeZone, p.Channels.Alert = zone, alert
		p.Brief = &notice.BriefTimes{At: "07:30", Days: []string{"monday"}}
		errtest.Must(t, c.Commit(t.Context(), p.Store(c, notice.Everyone, version, clock.Now())...))
	}
	alerts, brief := mailed(t, h, notice.Alert), mailed(t, h, notice.Brief)
	want := func(zone string, kinds ...notice.Kind) {
		t.Helper()
		p, _, err := notice.LoadPreferences(t.Context(), c, h.A.UserID)
		errtest.Must(t, err)
		if p.TimeZone != zone {
			t.Errorf("time zone = %s, want %s of the defaults", p.TimeZone, zone)
		}
		if diff := cmp.Diff(kinds, wanted(t, h)); diff != "" {
			t.Errorf("kinds differ (-want +got):\n%s", diff)
		}
	}
	defaults(0, "UTC") // without alerts: the click counts when they come again
	for range 2 {
		if got := click(t, h, http.MethodPost, alerts).Code; got != 200 {
			t.Errorf("status = %d, want 200", got)
		}
	}
	defaults(1, "Europe/Berlin", notice.Mail, notice.Slack)
	want("Europe/Berlin", notice.Security, notice.Approval, notice.Brief)
	if got := click(t, h, http.MethodPost, brief).Code; got != 200 {
		t.Errorf("status = %d, want 200", got)
	}
	defaults(2, "Asia/Tokyo", notice.Mail)
	want("Asia/Tokyo", notice.Security, notice.Approval)
}

// TestUnsubscribe_Refused refuses changed tokens, those of other persons and kinds, and revoked ones.
func TestUnsubscribe_Refused(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	path, brief := mailed(t, h, notice.Alert), mailed(t, h, notice.Brief)
	last := "A"
	if strings.HasSuffix(path, last) {
		last = "E"
	}
	c := store.For(h.Store, h.A.ID)
	for name, changed := range map[string]string{
		"another signature": path[:len(path)-1] + last,
		"another kind":      strings.Replace(path, ".alert.", ".brief.", 1),
		"a kind that stays": strings.Replace(path, ".alert.", ".security.", 1),
		"another person":    strings.Replace(path, h.A.UserID, h.B.UserID, 1),
		"another company":   strings.Replace(path, h.A.ID, h.B.ID, 1),
		"no token":          notice.StopPath + "x",
	} {
		if got := click(t, h, http.MethodPost, changed).Code; got != 404 {
			t.Errorf("%s: status = %d, want 404", name, got)
		}
	}
	was := notice.Defaults()
	was.Channels.Alert = nil
	ops, err := notice.Defaults().Renew(t.Context(), c, h.A.UserID, was)
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), ops...))
	if got := click(t, h, http.MethodPost, path).Code; got != 404 {
		t.Errorf("a revoked token: status = %d, want 404", got)
	}
	if got := click(t, h, http.MethodPost, brief).Code; got != 200 {
		t.Errorf("a token of the other kind: status = %d, want 200", got)
	}
	if diff := cmp.Diff([]notice.Kind{notice.Security, notice.Approval, notice.Alert}, wanted(t, h)); diff != "" {
		t.Errorf("kinds after refused clicks differ (-want +got):\n%s", diff)
	}
}
