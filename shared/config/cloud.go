package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Cloud is the settings of a process that works on AWS, beside those of Config. The deployment gives each function those
// that it needs, and the others are empty; the local process needs those of CloudSettings.
type Cloud struct {
	Table       string            // ORGOPS_TABLE: name of the main table
	KeysTable   string            // ORGOPS_KEYS_TABLE: name of the table of wrapped data keys
	WrappingKey string            // ORGOPS_WRAPPING_KEY: ARN of the KMS key that wraps them
	FormerKeys  []string          // ORGOPS_FORMER_WRAPPING_KEYS: ARNs of those that did before, until all is wrapped anew
	TokenKeys   string            // ORGOPS_TOKEN_KEYS: ARN of the secret with the keys that verify tokens
	SigningKeys string            // ORGOPS_SIGNING_KEYS: ARN of the secret with the keys that sign tokens
	Retries     QueueURLs         // ORGOPS_RETRIES_QUEUE, ORGOPS_RETRIES_DEAD_LETTERS
	Syncs       QueueURLs         // ORGOPS_SYNCS_QUEUE, ORGOPS_SYNCS_DEAD_LETTERS
	FairQueues  bool              // ORGOPS_FAIR_QUEUES: true sends a company as its messages' group
	Stack       string            // ORGOPS_STACK: name of the deployment, under which its metrics are found; Orgops
	UsagePlans  map[string]string // ORGOPS_USAGE_PLANS: ids of the gateway's usage plans by plan, as free=a1b2c3,pro=d4e5f6
}

// QueueURLs says where a queue and its dead letters are.
type QueueURLs struct{ Queue, Dead string }

// CloudSettings lists every variable that the local process looks at on AWS, beside those of Settings, for help texts.
func CloudSettings() []Setting {
	return []Setting{
		{"ORGOPS_TABLE", "", "name of the main table, which has a stream"},
		{"ORGOPS_KEYS_TABLE", "", "name of the table of wrapped data keys"},
		{"ORGOPS_WRAPPING_KEY", "", "ARN of the KMS key that wraps them"},
		{"ORGOPS_FORMER_WRAPPING_KEYS", "", "ARNs of KMS keys that did before, while admin keys rewrap has not ended"},
		{"ORGOPS_TOKEN_KEYS", "", "ARN of the secret with the keys that verify tokens"},
		{"ORGOPS_SIGNING_KEYS", "", "ARN of the secret with the keys that sign tokens"},
		{"ORGOPS_RETRIES_QUEUE", "", "URL of the queue of deliveries that are due later"},
		{"ORGOPS_RETRIES_DEAD_LETTERS", "", "URL of the queue of its dead letters"},
		{"ORGOPS_SYNCS_QUEUE", "", "URL of the queue of sync runs"},
		{"ORGOPS_SYNCS_DEAD_LETTERS", "", "URL of the queue of its dead letters"},
		{"ORGOPS_FAIR_QUEUES", "", "true where SQS is AWS's own: one company's backlog then delays no other's"},
		{"AWS_REGION", "", "region, such as eu-central-1"},
		{"AWS_ACCESS_KEY_ID", "", "credentials, with AWS_SECRET_ACCESS_KEY and, where they are temporary, AWS_SESSION_TOKEN"},
		{"AWS_ENDPOINT_URL", "", "address of an emulator of all services; of one: AWS_ENDPOINT_URL_DYNAMODB, _SQS, _KMS, _SECRETS_MANAGER"},
	}
}

// ReadCloud reads them through getenv (os.Getenv).
func ReadCloud(getenv func(string) string) (Cloud, error) {
	value := func(name string) string { return strings.TrimSpace(getenv(name)) }
	c := Cloud{
		Table: value("ORGOPS_TABLE"), KeysTable: value("ORGOPS_KEYS_TABLE"), WrappingKey: value("ORGOPS_WRAPPING_KEY"),
		TokenKeys: value("ORGOPS_TOKEN_KEYS"), SigningKeys: value("ORGOPS_SIGNING_KEYS"), FairQueues: value("ORGOPS_FAIR_QUEUES") == "true",
		Retries:    QueueURLs{value("ORGOPS_RETRIES_QUEUE"), value("ORGOPS_RETRIES_DEAD_LETTERS")},
		Syncs:      QueueURLs{value("ORGOPS_SYNCS_QUEUE"), value("ORGOPS_SYNCS_DEAD_LETTERS")},
		Stack:      cmp.Or(value("ORGOPS_STACK"), "Orgops"),
		UsagePlans: map[string]string{},
		FormerKeys: list(value("ORGOPS_FORMER_WRAPPING_KEYS")),
	}
	for _, text := range list(value("ORGOPS_USAGE_PLANS")) {
		plan, id, _ := strings.Cut(text, "=")
		if plan == "" || id == "" {
			return c, fmt.Errorf("ORGOPS_USAGE_PLANS: %q is not plan=id", text)
		}
		c.UsagePlans[plan] = id
	}
	return c, nil
}

// list is the items between commas or spaces.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
