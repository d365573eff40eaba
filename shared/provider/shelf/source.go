package shelf

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/webhook/outbound"
)

// sources holds the manifests of the providers that are fetched. README.md says what each needs.
//
//go:embed sources/*.json
var sources embed.FS

// All makes a connector of each file. Of two files with the same name it makes a connector that receives and is fetched. The connectors
// fetch through client.
func All(client *outbound.Client, now func() time.Time) []connector.Connector {
	receiving, fetched := namesOf(kinds, "kinds"), namesOf(sources, "sources")
	var all []connector.Connector
	for _, kind := range receiving {
		c := &Connector{kind: kind, load: sync.OnceValue(func() description { return read(kind + ".json") })}
		if slices.Contains(fetched, kind) {
			s := source(kind, client, now)
			all = append(all, &Both{c, s, sync.OnceValue(func() json.RawMessage { return optional(s.CredentialSchema()) })})
		} else {
			all = append(all, c)
		}
	}
	for _, kind := range fetched {
		if !slices.Contains(receiving, kind) {
			all = append(all, source(kind, client, now))
		}
	}
	return all
}

// namesOf lists the kinds of a folder of the program.
func namesOf(files fs.ReadDirFS, folder string) (names []string) {
	entries, _ := files.ReadDir(folder) // the folder is a part of the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// source makes the connector of a manifest, which is read when its kind is used for the first time.
func source(kind string, client *outbound.Client, now func() time.Time) *manifest.Connector {
	return manifest.New(kind, sync.OnceValue(func() *manifest.Manifest {
		raw, err := sources.ReadFile(path.Join("sources", kind+".json"))
		if err != nil {
			panic(fmt.Sprintf("sources/%s: %v", kind, err)) // the file is a part of the program
		}
		m, err := manifest.Parse(raw)
		if err != nil {
			panic(fmt.Sprintf("sources/%s: %v", kind, err)) // no test lets a bad one pass
		}
		return m
	}), client, now)
}

// Both receives a provider's webhooks, and is fetched if its configuration says from where. It also implements connector.Authenticated,
// connector.Lister and connector.Checker.
type Both struct {
	*Connector

	source      *manifest.Connector
	credentials func() json.RawMessage
}

// Schema implements connector.Connector. What only a sync needs may be absent.
func (b *Both) Schema() json.RawMessage {
	var receiving, fetched map[string]any
	_ = json.Unmarshal(b.Connector.Schema(), &receiving) // both are schemas
	_ = json.Unmarshal(b.source.Schema(), &fetched)
	properties, _ := receiving["properties"].(map[string]any)
	more, _ := fetched["properties"].(map[string]any)
	maps.Copy(properties, more)
	if examples, _ := fetched["examples"].([]any); len(more) > 1 { // more than the schedule
		receiving["examples"] = append(examples, map[string]any{})
	}
	merged, _ := json.Marshal(receiving) // it was decoded from JSON
	return merged
}

// Ports implements connector.Connector.
func (b *Both) Ports(config json.RawMessage) []integration.Port {
	ports := b.Connector.Ports(config)
	if b.source.Complete(config) {
		for _, port := range b.source.Ports(config) {
			if !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	return ports
}

// CheckConfig implements connector.Checker.
func (b *Both) CheckConfig(config json.RawMessage) []fault.FieldError {
	if !b.source.Complete(config) {
		return nil
	}
	return b.source.CheckConfig(config)
}

// Address implements connector.Addressed.
func (b *Both) Address(config json.RawMessage) string { return b.source.Address(config) }

// CredentialSchema implements connector.Authenticated.
func (b *Both) CredentialSchema() json.RawMessage { return b.credentials() }

// optional returns the schema of credentials that only a sync needs.
func optional(credentials json.RawMessage) json.RawMessage {
	var schema map[string]any
	_ = json.Unmarshal(credentials, &schema) // it is a schema
	schema["description"] = fmt.Sprint(schema["description"], " Webhooks need none.")
	said, _ := json.Marshal(schema) // it was decoded from JSON
	return said
}

// NeededCredentials implements connector.Authenticated.
func (b *Both) NeededCredentials(config json.RawMessage) []string {
	return b.source.NeededCredentials(config)
}

// Lists implements connector.Lister.
func (b *Both) Lists(config json.RawMessage) connector.Listed { return b.source.Lists(config) }

// Streams implements connector.Streamed.
func (b *Both) Streams(config json.RawMessage) []string { return b.source.Streams(config) }

// Fetch implements connector.Source.
func (b *Both) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	return b.source.Fetch(ctx, f)
}
