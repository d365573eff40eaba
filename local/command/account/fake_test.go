package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fake answers over HTTP as AWS's services do, with the protocol of each.
type fake struct {
	mu                sync.Mutex // requests come at once
	calls, unreserved int
	code, codeUsed    int64
	rate              float64
	keys              int
	quotas            map[string]float64 // granted, by code
	defaults          map[string]float64
	has               map[string]int // resources by type
	deployed          []string       // types of the stack's resources; nil: there is no stack
	status            string         // of these resources; "": CREATE_COMPLETE
	denied            string         // an action that the credentials may not use
	asked             map[string]int // requests by action
}

// established returns an account in which every default holds.
func established() *fake {
	return &fake{
		calls: 1000, unreserved: 1000, code: 75 << 30, codeUsed: 1 << 30, rate: 10_000, asked: map[string]int{},
		quotas: map[string]float64{}, defaults: map[string]float64{"L-FE177D64": 1000, "L-F98FE922": 2500, "L-0263D0A3": 5, "L-F678F1CE": 5}, has: map[string]int{},
	}
}

func (f *fake) serve(t *testing.T) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	action := action(r)
	f.asked[action]++
	if action == f.denied {
		refuse(w, r, http.StatusBadRequest, "AccessDeniedException", "user arn:aws:iam::1:user/secret-name may not")
		return
	}
	var in struct {
		ServiceCode, QuotaCode, TypeName, NextToken string
		MaxResults                                  int
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-amz-json") {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch action {
	case "GetAccountSettings":
		reply(w, map[string]any{
			"AccountLimit": map[string]any{"ConcurrentExecutions": f.calls, "UnreservedConcurrentExecutions": f.unreserved, "TotalCodeSize": f.code},
			"AccountUsage": map[string]any{"TotalCodeSize": f.codeUsed},
		})
	case "GetAccount":
		reply(w, map[string]any{"throttleSettings": map[string]any{"rateLimit": f.rate, "burstLimit": 5000}})
	case "GetApiKeys":
		f.pageOfKeys(w, r)
	case "GetServiceQuota":
		f.quota(w, r, f.quotas, in.QuotaCode)
	case "GetAWSDefaultServiceQuota":
		f.quota(w, r, f.defaults, in.QuotaCode)
	case "ListResources":
		f.pageOfResources(w, in.TypeName, in.NextToken, in.MaxResults)
	case "ListStackResources":
		f.stack(w)
	default:
		http.Error(w, "no such action", http.StatusNotFound)
	}
}

// action names a request's action in the way of its protocol: a header, a form or a path.
func action(r *http.Request) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.LastIndex(target, ".")+1:]
	}
	switch r.URL.Path {
	case "/2016-08-19/account-settings":
		return "GetAccountSettings"
	case "/account":
		return "GetAccount"
	case "/apikeys":
		return "GetApiKeys"
	}
	return r.PostFormValue("Action")
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, r *http.Request, status int, kind, message string) {
	if r.PostForm != nil {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", kind, message)
		return
	}
	w.Header().Set("X-Amzn-ErrorType", kind)
	w.WriteHeader(status)
	reply(w, map[string]any{"__type": kind, "message": message})
}

func (f *fake) quota(w http.ResponseWriter, r *http.Request, values map[string]float64, code string) {
	value, ok := values[code]
	if !ok {
		refuse(w, r, http.StatusBadRequest, "NoSuchResourceException", "The request failed because the specified service does not exist.")
		return
	}
	reply(w, map[string]any{"Quota": map[string]any{"QuotaCode": code, "Value": value}})
}

func (f *fake) pageOfKeys(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	begin, _ := strconv.Atoi(r.URL.Query().Get("position"))
	end := min(begin+size, f.keys)
	items := make([]map[string]any, end-begin)
	for i := range items {
		items[i] = map[string]any{"id": strconv.Itoa(begin + i)}
	}
	body := map[string]any{"item": items}
	if end < f.keys {
		body["position"] = strconv.Itoa(end)
	}
	reply(w, body)
}

func (f *fake) pageOfResources(w http.ResponseWriter, kind, token string, size int) {
	begin, _ := strconv.Atoi(token)
	end := min(begin+size, f.has[kind])
	descriptions := make([]map[string]any, end-begin)
	for i := range descriptions {
		descriptions[i] = map[string]any{"Identifier": strconv.Itoa(begin + i), "Properties": "{}"}
	}
	body := map[string]any{"TypeName": kind, "ResourceDescriptions": descriptions}
	if end < f.has[kind] {
		body["NextToken"] = strconv.Itoa(end)
	}
	reply(w, body)
}

func (f *fake) stack(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	if f.deployed == nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id Orgops does not exist</Message></Error></ErrorResponse>")
		return
	}
	fmt.Fprint(w, "<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>")
	for i, kind := range f.deployed {
		fmt.Fprintf(w, "<member><LogicalResourceId>R%d</LogicalResourceId><ResourceType>%s</ResourceType><ResourceStatus>%s</ResourceStatus></member>", i, kind, cmp.Or(f.status, "CREATE_COMPLETE"))
	}
	fmt.Fprint(w, "</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>")
}
