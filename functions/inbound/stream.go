package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"io"
	"net/http"

	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
	"orgops/shared/webhook/outbound"
)

// streamed holds what is known of a large body that no rule reads, and that is not kept.
type streamed struct {
	signatures *scheme.Streamed
	digest     hash.Hash
}

type streamedKey struct{}

// stream returns where the bytes of a large body go if the headers tell that nothing will read it: an event of GitHub's that no rule of the
// mapping names, such as a push of 20 MB. It returns nil if the body is to be kept.
func (d *Deps) stream(ctx context.Context, param func(string) string, header http.Header) (context.Context, io.Writer) {
	company, provider := param("companyId"), param("provider")
	conn, _ := d.inboundConnector(provider)
	large, ok := conn.(connector.Streaming)
	if !ok || !id.Valid(company) || len(outbound.Codings(header)) > 0 {
		return ctx, nil
	}
	if _, err := conn.Document(header, nil); err != nil { // it is wrapped, or no arrival of the provider's
		return ctx, nil
	}
	c, now := d.Company(company), d.Now().UTC()
	i, _, err := d.reader.Load(ctx, c, provider)
	if err != nil || !i.Allows(integration.InboundReceive, now) { // the inbox keeps what the sandbox receives
		return ctx, nil
	}
	m, err := d.mappings.Of(ctx, c, i, conn)
	if err != nil || !m.Ignores(header) {
		return ctx, nil
	}
	secrets, _, err := d.reader.LoadSecrets(ctx, c, d.Vault, provider)
	if err != nil {
		return ctx, nil
	}
	s := &streamed{large.Stream(secrets.Live(now)), sha256.New()}
	_, _ = io.WriteString(s.digest, digestHead("")) // the provider signs no id
	return context.WithValue(ctx, streamedKey{}, s), io.MultiWriter(s.signatures, s.digest)
}

// sum returns what digestOf returns for the body.
func (s *streamed) sum() string { return base64.RawURLEncoding.EncodeToString(s.digest.Sum(nil)) }
