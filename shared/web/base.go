package web

import "context"

type basePathKey struct{}

// WithBasePath sets the base path, such as /live, of a request under ctx. References in the answer begin with it. The base
// path is the part of the request's address in front of the routed path, without a trailing slash.
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

// BasePath returns the base path of the request under ctx, or "".
func BasePath(ctx context.Context) string { return basePath(ctx) }

// CompanyPath returns the path of the guarded company, with the base path. References in answers begin with it.
func CompanyPath(ctx context.Context) string { return basePath(ctx) + "/companies/" + Tenant(ctx).ID() }
