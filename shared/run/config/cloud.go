package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Cloud holds the settings of a process that uses AWS, in addition to those of Config. The deployment sets only the
// settings that a function needs. The local process needs the settings in CloudSettings.
type Cloud struct {
	Table         string            // ORGOPS_TABLE: name of the main table
	KeysTable     string            // ORGOPS_KEYS_TABLE: name of the table of wrapped data keys
	WrappingKey   string            // ORGOPS_WRAPPING_KEY: ARN of the KMS key that wraps data keys
	FormerKeys    []string          // ORGOPS_FORMER_WRAPPING_KEYS: ARNs of previous wrapping keys, until all data keys are rewrapped
	TokenKeys     string            // ORGOPS_TOKEN_KEYS: ARN of the secret with the keys that verify tokens
	SigningKeys   string            // ORGOPS_SIGNING_KEYS: ARN of the secret with the keys that sign tokens
	Retries       QueueURLs         // ORGOPS_RETRIES_QUEUE, ORGOPS_RETRIES_DEAD_LETTERS
	Syncs         QueueURLs         // ORGOPS_SYNCS_QUEUE, ORGOPS_SYNCS_DEAD_LETTERS
	Notices       QueueURLs         // ORGOPS_NOTICES_QUEUE, ORGOPS_NOTICES_DEAD_LETTERS
	FailedChanges string            // ORGOPS_FAILED_CHANGES: URL of the queue of the changes that Lambda discarded
	FairQueues    bool              // ORGOPS_FAIR_QUEUES: true sends the company as the message group
	Stack         string            // ORGOPS_STACK: name of the deployment in its metrics; default Orgops
	UsagePlans    map[string]string // ORGOPS_USAGE_PLANS: ids of the gateway's usage plans by plan, as free=a1b2c3,pro=d4e5f6
	Applications  string            // ORGOPS_APPLICATIONS: ARN of the secret with the operator's applications; default none
	SlackSecret   string            // ORGOPS_SLACK_SECRET: ARN of the secret with the Slack app, JSON with clientId, clientSecret and signingSecret; "": none
	PlanLimits    bool              // ORGOPS_PLAN_LIMITS: true counts the requests of companies whose plan has no usage key
}

// QueueURLs holds the URLs of a queue and of its dead-letter queue.
type QueueURLs struct{ Queue, Dead string }

// CloudSettings lists the variables that the local process reads on AWS, in addition to those of Settings, for help texts.
func CloudSettings() []Setting {
	return []Setting{
		{"ORGOPS_TABLE", "", "name of the main table, which has a stream"},
		{"ORGOPS_KEYS_TABLE", "", "name of the table of wrapped data keys"},
		{"ORGOPS_WRAPPING_KEY", "", "ARN of the KMS key that wraps data keys"},
		{"ORGOPS_FORMER_WRAPPING_KEYS", "", "ARNs of previous wrapping keys, until admin keys rewrap has finished"},
		{"ORGOPS_TOKEN_KEYS", "", "ARN of the secret with the keys that verify tokens"},
		{"ORGOPS_SIGNING_KEYS", "", "ARN of the secret with the keys that sign tokens"},
		{"ORGOPS_RETRIES_QUEUE", "", "URL of the queue of deliveries that are due later"},
		{"ORGOPS_RETRIES_DEAD_LETTERS", "", "URL of the dead-letter queue of ORGOPS_RETRIES_QUEUE"},
		{"ORGOPS_SYNCS_QUEUE", "", "URL of the queue of sync runs"},
		{"ORGOPS_SYNCS_DEAD_LETTERS", "", "URL of the dead-letter queue of ORGOPS_SYNCS_QUEUE"},
		{"ORGOPS_NOTICES_QUEUE", "", "URL of the queue of what people are told"},
		{"ORGOPS_NOTICES_DEAD_LETTERS", "", "URL of the dead-letter queue of ORGOPS_NOTICES_QUEUE"},
		{"ORGOPS_FAIR_QUEUES", "", "true on AWS's own SQS, so that one company's backlog does not delay the others"},
		{"ORGOPS_FAILED_CHANGES", "", "URL of the queue of the changes that Lambda discarded, for admin stream replay"},
		{"AWS_REGION", "", "region, such as eu-central-1"},
		{"AWS_ACCESS_KEY_ID", "", "credentials, with AWS_SECRET_ACCESS_KEY and, if they are temporary, AWS_SESSION_TOKEN"},
		{"AWS_ENDPOINT_URL", "", "URL of an emulator of all services; for one service: AWS_ENDPOINT_URL_DYNAMODB, _SQS, _KMS, _SECRETS_MANAGER"},
	}
}

// ReadCloud reads the settings of Cloud through getenv (os.Getenv).
func ReadCloud(getenv func(string) string) (Cloud, error) {
	value := func(name string) string { return strings.TrimSpace(getenv(name)) }
	c := Cloud{
		Table: value("ORGOPS_TABLE"), KeysTable: value("ORGOPS_KEYS_TABLE"), WrappingKey: value("ORGOPS_WRAPPING_KEY"),
		TokenKeys: value("ORGOPS_TOKEN_KEYS"), SigningKeys: value("ORGOPS_SIGNING_KEYS"), FairQueues: value("ORGOPS_FAIR_QUEUES") == "true",
		PlanLimits: value("ORGOPS_PLAN_LIMITS") == "true", Applications: value("ORGOPS_APPLICATIONS"), SlackSecret: value("ORGOPS_SLACK_SECRET"),
		Retries:    QueueURLs{value("ORGOPS_RETRIES_QUEUE"), value("ORGOPS_RETRIES_DEAD_LETTERS")},
		Syncs:      QueueURLs{value("ORGOPS_SYNCS_QUEUE"), value("ORGOPS_SYNCS_DEAD_LETTERS")},
		Notices:    QueueURLs{value("ORGOPS_NOTICES_QUEUE"), value("ORGOPS_NOTICES_DEAD_LETTERS")},
		Stack:      cmp.Or(value("ORGOPS_STACK"), "Orgops"),
		UsagePlans: map[string]string{}, FailedChanges: value("ORGOPS_FAILED_CHANGES"),
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

// list splits a text at commas and spaces.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
