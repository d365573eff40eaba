package config

import (
	"fmt"
	"strings"
)

// Cloud is the settings of a function in AWS, beside those of Config. The deployment gives each function those that it
// needs; the others are empty.
type Cloud struct {
	Table       string            // ORGOPS_TABLE: name of the main table
	KeysTable   string            // ORGOPS_KEYS_TABLE: name of the table of wrapped data keys
	WrappingKey string            // ORGOPS_WRAPPING_KEY: ARN of the KMS key that wraps them
	TokenKeys   string            // ORGOPS_TOKEN_KEYS: ARN of the secret with the signing keys of tokens
	Retries     QueueURLs         // ORGOPS_RETRIES_QUEUE, ORGOPS_RETRIES_DEAD_LETTERS
	Syncs       QueueURLs         // ORGOPS_SYNCS_QUEUE, ORGOPS_SYNCS_DEAD_LETTERS
	FairQueues  bool              // ORGOPS_FAIR_QUEUES: true sends a company as its messages' group
	UsagePlans  map[string]string // ORGOPS_USAGE_PLANS: ids of the gateway's usage plans by plan, as free=a1b2c3,pro=d4e5f6
}

// QueueURLs says where a queue and its dead letters are.
type QueueURLs struct{ Queue, Dead string }

// ReadCloud reads them through getenv (os.Getenv).
func ReadCloud(getenv func(string) string) (Cloud, error) {
	value := func(name string) string { return strings.TrimSpace(getenv(name)) }
	c := Cloud{
		Table: value("ORGOPS_TABLE"), KeysTable: value("ORGOPS_KEYS_TABLE"), WrappingKey: value("ORGOPS_WRAPPING_KEY"),
		TokenKeys: value("ORGOPS_TOKEN_KEYS"), FairQueues: value("ORGOPS_FAIR_QUEUES") == "true",
		Retries:    QueueURLs{value("ORGOPS_RETRIES_QUEUE"), value("ORGOPS_RETRIES_DEAD_LETTERS")},
		Syncs:      QueueURLs{value("ORGOPS_SYNCS_QUEUE"), value("ORGOPS_SYNCS_DEAD_LETTERS")},
		UsagePlans: map[string]string{},
	}
	for _, text := range strings.FieldsFunc(value("ORGOPS_USAGE_PLANS"), func(r rune) bool { return r == ',' || r == ' ' }) {
		plan, id, _ := strings.Cut(text, "=")
		if plan == "" || id == "" {
			return c, fmt.Errorf("ORGOPS_USAGE_PLANS: %q is not plan=id", text)
		}
		c.UsagePlans[plan] = id
	}
	return c, nil
}
