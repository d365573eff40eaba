// Each library has one job; the comment says which, and why it is this one. AES-GCM, HMAC, Ed25519 and the rate limiter (40 lines) are the
// standard library's or our own, where a dependency would be larger than the code.
module orgops

go 1.26.0

require (
	code.dny.dev/ssrf v0.3.0 // outgoing addresses: the IANA registries of special addresses, kept current, as a dialer hook
	github.com/CycloneDX/cyclonedx-go v0.12.0 // bill of materials of a release: CycloneDX's own types and encoder
	github.com/Shopify/toxiproxy/v2 v2.12.0 // tests: breaks TCP connections in the ways that networks do; the proxy that the field uses
	github.com/aws/aws-cdk-go/awscdk/v2 v2.276.0 // infrastructure: required
	github.com/aws/aws-lambda-go v1.55.1 // Lambda runtime: required
	github.com/aws/aws-sdk-go-v2 v1.48.0 // AWS: required; clients are made from explicit options, since loading the default configuration costs milliseconds of a cold start
	github.com/aws/aws-sdk-go-v2/service/apigateway v1.40.2 // usage keys
	github.com/aws/aws-sdk-go-v2/service/cloudcontrol v1.30.2 // before a deployment: counts any type of resource in the account, where one client a service would be five large ones
	github.com/aws/aws-sdk-go-v2/service/cloudformation v1.82.4 // before a deployment: what the stack has already
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.68.0 // store; this and the next three stay at their last releases before schema-based serialization, whose tables cost each start 2 ms and 0.8 MB
	github.com/aws/aws-sdk-go-v2/service/dynamodbstreams v1.41.0 // change feed of a process that is not a Lambda
	github.com/aws/aws-sdk-go-v2/service/kms v1.60.0 // wrapping of data keys
	github.com/aws/aws-sdk-go-v2/service/lambda v1.114.2 // before a deployment: the account's concurrency; a function that calls itself
	github.com/aws/aws-sdk-go-v2/service/secretsmanager v1.49.0 // token keys
	github.com/aws/aws-sdk-go-v2/service/servicequotas v1.43.10 // before a deployment: the account's quotas
	github.com/aws/aws-sdk-go-v2/service/sesv2 v1.74.0 // mails; the last release before schema-based serialization
	github.com/aws/aws-sdk-go-v2/service/sqs v1.48.1 // queues
	github.com/aws/constructs-go/constructs/v10 v10.8.1 // comes with the CDK
	github.com/aws/jsii-runtime-go v1.142.0 // comes with the CDK
	github.com/aws/smithy-go v1.28.9 // errors of the AWS SDK
	github.com/awslabs/aws-lambda-go-api-proxy v0.16.2 // gateway events as net/http: required; v1 events only, its v2 adapter splits header values at commas
	github.com/beevik/etree v1.8.1 // a SAML response as a tree; comes with crewjam/saml
	github.com/cdklabs/cdk-nag-go/cdknag/v2 v2.38.2 // rules of AWS Solutions as a test of the template
	github.com/cedar-policy/cedar-go v1.9.1 // policy engine: required; its validator against a schema is experimental (x/exp), so its releases are read before an update
	github.com/coreos/go-oidc/v3 v3.21.0 // OpenID Connect: discovery, rotating keys, ID tokens; the client library that the field uses
	github.com/crewjam/saml v0.6.3 // SAML 2.0: requests, signatures, conditions; its identity provider serves the tests
	github.com/danielgtaylor/huma/v2 v2.37.2 // operations, validation, OpenAPI 3.1: the document is made from the types that handlers use
	github.com/emersion/go-smtp v0.25.1 // tests: a mail host that answers as told
	github.com/evanw/esbuild v0.28.2 // tests: bundles the console's script without npm; no program links it
	github.com/go-chi/chi/v5 v5.5.0 // routing: plain net/http, no reflection, the router that the proxy adapter knows
	github.com/go-jose/go-jose/v4 v4.1.9 // assertions of clients: JWK, and JWTs of several algorithms, each pinned to its key; go-oidc uses it
	github.com/go-json-experiment/json v1.27.2 // canonical JSON (RFC 8785) of an action's digest, and stored JSON in half of encoding/json's time; comes with cedar-go
	github.com/go-webauthn/webauthn v0.18.2 // passkeys: parses CBOR and COSE keys and verifies as WebAuthn says, tested with the specification's vectors
	github.com/golang-jwt/jwt/v5 v5.3.1 // tokens: required; the algorithm is fixed by the key
	github.com/google/go-cmp v0.7.0 // tests: readable differences
	github.com/google/uuid v1.6.0 // ids: UUIDv7
	github.com/itchyny/gojq v0.12.20 // mappings: jq's parser and interpreter in pure Go, which runs under a context; 1 ms of a cold start, cel-go 3.5 ms
	github.com/itchyny/timefmt-go v0.1.9 // strptime and strftime of mappings; gojq links it already
	github.com/jackc/pgx/v5 v5.13.0 // PostgreSQL's protocol, with SCRAM and bounded messages: the driver that the field uses; pgconn alone, 0.9 MB, since the server converts the values
	github.com/lmittmann/tint v1.2.1 // log on a terminal; JSON elsewhere
	github.com/modelcontextprotocol/go-sdk v1.8.0 // Model Context Protocol: the official library; it speaks every revision, without sessions; 0.3 ms of a cold start
	github.com/opencontainers/go-digest v1.0.0 // digests of the image; comes with image-spec
	github.com/opencontainers/image-spec v1.1.1 // OCI image of a release: the specification's own types. The image is one layer, so no builder is needed
	github.com/prometheus/client_golang v1.25.0 // tests: comes with toxiproxy, whose server needs a registry
	github.com/prometheus/prometheus v0.315.0 // tests: its parser reads the metrics; the last release that takes any Go 1.26
	github.com/rs/zerolog v1.35.1 // tests: comes with toxiproxy, whose server needs its logger
	github.com/russellhaering/goxmldsig v1.6.1 // the clock that crewjam/saml takes; comes with it
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests: hold what is refused and written to the JSON Schema standard; too slow to start for a Lambda
	github.com/swaggest/swgui v1.8.5 // interactive documentation: Swagger UI embedded, no CDN
	github.com/wneessen/go-mail v0.8.1 // mails: MIME, and SMTP that demands TLS; 0.8.2 needs a newer Go
	github.com/yuin/goldmark v1.7.16 // Markdown of the guides as HTML: the CommonMark renderer that the field uses
	github.com/zitadel/oidc/v3 v3.52.0 // tests: a certified OpenID provider in process; dex has no release that Go modules resolve, and brings a Kubernetes client
	golang.org/x/crypto v0.59.0 // password hashing: argon2id
	golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d // Mozilla's certificate authorities where the system has none, as in an image without a base
	golang.org/x/oauth2 v0.38.0 // the authorization code flow with PKCE; comes with go-oidc
	golang.org/x/sys v0.50.0 // tests: the limit on a process's files
	golang.org/x/term v0.48.0 // whether a terminal is there
	golang.org/x/text v0.44.0 // characters of feeds, which come in any charset
	modernc.org/libc v1.80.1 // comes with modernc.org/sqlite, which pins its version
	modernc.org/sqlite v1.62.0 // two settings of SQLite that zombiezen.com/go/sqlite does not offer
	zombiezen.com/go/sqlite v1.4.2 // embedded store: pure Go, prepared statements, control over each connection
)

require (
	github.com/Masterminds/semver/v3 v3.5.0 // indirect
	github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream v1.7.26 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.10 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.10 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.5.3 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.24 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery v1.13.10 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/cdklabs/awscdk-asset-awscli-go/awscliv1/v2 v2.2.292 // indirect
	github.com/cdklabs/awscdk-asset-node-proxy-agent-go/nodeproxyagentv6/v2 v2.1.3 // indirect
	github.com/cdklabs/cloud-assembly-schema-go/awscdkcloudassemblyschema/v55 v55.3.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.4 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
	github.com/go-webauthn/x v0.3.1 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/gorilla/mux v1.8.1 // indirect
	github.com/gorilla/securecookie v1.1.2 // indirect
	github.com/grafana/regexp v0.0.0-20250905093917-f7b3be9d1853 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/muhlemmer/gu v0.3.1 // indirect
	github.com/muhlemmer/httpforwarded v0.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rs/cors v1.11.1 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/vearutop/statigz v1.4.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	github.com/zitadel/schema v1.3.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	golang.org/x/exp v0.0.0-20260709172345-9ea1abe57597 // indirect
	golang.org/x/lint v0.0.0-20241112194109-818c5a804067 // indirect
	golang.org/x/mod v0.43.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/telemetry v0.0.0-20261009151841-97e8ea77aa2a // indirect
	golang.org/x/time v0.15.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	golang.org/x/tools/cmd/godoc v0.1.0-deprecated // indirect
	golang.org/x/tools/godoc v0.1.0-deprecated // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	gopkg.in/tomb.v1 v1.0.0-20141024135613-dd632973f1e7 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
