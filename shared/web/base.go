package web

import "context"

type basePathKey struct{}

// WithBasePath has references in answers to a request that is served under the context begin with a base path, such as
// /live: what stands in the address that was asked for before the path that is routed. It has no slash at its end.
func WithBasePath(ctx context.Context, base string) context.Context {
	if base == "" {
		return ctx
	}
	return context.WithValue(ctx, basePathKey{}, base)
}

func basePath(ctx context.Context) string {
	base, _ := ctx.Value(basePathKey{}).(string)
	return base
}

// CompanyPath is the path of the guarded company as whoever asks has to write it. References in answers begin with it.
func CompanyPath(ctx context.Context) string { return basePath(ctx) + "/companies/" + Tenant(ctx).ID() }
