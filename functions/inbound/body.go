package inbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// bodyLimit returns the limit of an arrival's body. It follows from the provider's name alone, and not from what is configured, so
// that a stranger does not learn that.
func (d *Deps) bodyLimit(param func(string) string, header http.Header) web.Limit {
	conn, _ := d.inboundConnector(param("provider"))
	return limitOf(conn, header)
}

func limitOf(conn connector.Inbound, header http.Header) web.Limit {
	if large, ok := conn.(connector.Large); ok {
		if limit, advice := large.MaxArrival(header); limit > 0 {
			return web.Limit{Bytes: limit, Advice: advice}
		}
	}
	return web.Limit{Bytes: web.MaxBody, Advice: "send fewer or shorter items at once"}
}

// checkCoding returns a fault for a content coding that the service does not decode.
func checkCoding(header http.Header) error {
	switch strings.Join(outbound.Codings(header), ",") {
	case "", "gzip", "x-gzip":
		return nil
	}
	return fault.New(fault.UnsupportedMediaType, "send the body as it is, or with Content-Encoding: gzip")
}

// isZipped reports whether an arrival's body is compressed. API Gateway decodes a body and leaves its header.
func (in incoming) isZipped() bool {
	return len(outbound.Codings(in.header)) > 0 && bytes.HasPrefix(in.body, []byte("\x1f\x8b"))
}

// errDamaged refuses a body that is not what its Content-Encoding says.
var errDamaged = fault.New(fault.Malformed, "the body is not the gzip that its Content-Encoding says")

// unzip decodes a body up to a limit, which is also that of the encoded body. A small body cannot become a large one, and what it becomes
// is counted like what arrives, because a stranger may have sent it.
func unzip(ctx context.Context, body []byte, limit web.Limit) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, errDamaged
	}
	decoded, err := io.ReadAll(io.LimitReader(&reserving{Reader: r, ctx: ctx}, limit.Bytes+1))
	switch {
	case fault.KindOf(err) == fault.Unavailable:
		return nil, err
	case int64(len(decoded)) > limit.Bytes:
		return nil, limit.Refuse()
	case err != nil:
		return nil, errDamaged
	}
	return decoded, nil
}

// reserving reserves memory for what it reads, step by step.
type reserving struct {
	io.Reader
	ctx  context.Context //nolint:containedctx // of the one call of unzip
	left int             // reserved and not read yet
}

// step is how much reserving reserves at once, in bytes.
const step = 64 << 10

func (r *reserving) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for r.left -= n; r.left < 0; r.left += step {
		if err := web.Reserve(r.ctx, step); err != nil {
			return 0, err
		}
	}
	return n, err
}
