package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"

	"orgops/shared/testkit/errtest"
)

// connecting configures an integration of GitLab.
func (w *world) connecting() { w.configure("gitlab", `{"project":"acme/app"}`) }

// finishConnection returns the request with which a connection ends.
func (w *world) finishConnection() ask {
	w.t.Helper()
	w.connecting()
	out := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/companies/"+w.company+"/integrations/gitlab/connect", http.NoBody)
	r.Host = "orgops.test"
	r.Header.Set("Authorization", "Bearer "+w.token)
	w.server().ServeHTTP(out, r)
	var begun struct{ URL string }
	errtest.Must(w.t, json.Unmarshal(out.Body.Bytes(), &begun))
	led, err := url.Parse(begun.URL)
	errtest.Must(w.t, err)
	cookie := out.Result().Cookies()[0]
	return ask{
		method: http.MethodGet, path: "//auth/connect/callback?" + w.provider.Allow(led).Encode(), status: http.StatusFound,
		header: http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}},
	}
}

func connectRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"connect-integration": after((*world).connecting, post("/integrations/gitlab/connect", "")),
		"finish-connection":   (*world).finishConnection,
	}
}
