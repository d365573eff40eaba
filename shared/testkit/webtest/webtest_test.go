package webtest_test

import (
	"context"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
)

func TestGuardAll(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	huma.Register(h.API(), huma.Operation{
		OperationID: "get-company", Method: "GET", Path: "/companies/{companyId}/own/{thing}", Security: web.Needs(user.ScopeOperationsRead),
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body company.Company }, error) {
		c, _, err := company.Get(ctx, web.Tenant(ctx))
		return &struct{ Body company.Company }{c}, err
	})
	webtest.GuardAll(t, h)
	for _, tenant := range []webtest.Tenant{h.A, h.B} {
		var got company.Company
		h.Do("GET", "/companies/"+tenant.ID+"/own/x", tenant.Token, nil).Want(200).JSON(&got)
		if got.ID != tenant.ID {
			t.Errorf("company = %s, want %s", got.ID, tenant.ID)
		}
	}
}
