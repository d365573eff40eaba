package web_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/audit"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
)

// TestServer_Strangers records a user's refusal after more refusals of unknown names than the service counts in a minute.
func TestServer_Strangers(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	a := store.For(h.Store, h.A.ID)
	web.Register(h.API(), web.Audited(web.Public(huma.Operation{OperationID: "try", Method: "POST", Path: "/try/{name}"})), func(ctx context.Context, in *struct {
		Name string `path:"name"`
	}) (*struct{}, error) {
		if in.Name == "known" {
			web.Identify(ctx, a, web.Caller{UserID: h.A.UserID, Company: h.A.ID})
		} else {
			web.Unidentified(ctx, in.Name, func(context.Context) error { return nil })
		}
		return nil, fault.New(fault.Unauthenticated, "no")
	})
	for n := range 4100 {
		h.Do("POST", fmt.Sprintf("/try/%d", n), "", nil).Want(401)
	}
	h.Do("POST", "/try/known", "", nil).Want(401)
	page, err := a.Query(t.Context(), store.Query{Prefix: audit.Prefix})
	errtest.Must(t, err)
	if len(page.Items) != 1 {
		t.Errorf("%d records of the user's refusal, want 1", len(page.Items))
	}
}
