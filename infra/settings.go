package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"

	"orgops/infra/api"
	"orgops/infra/data"
	"orgops/infra/function"
	"orgops/shared/run/config"
	"orgops/shared/storage/mail"
	"orgops/shared/web"
)

// settings holds the values of the context:
//
//	tenant         name of a silo: the stack is Orgops-<tenant> instead of Orgops
//	arch           arm64 (default) or x86_64
//	allowNetworks  private networks that deliveries may reach, comma separated; no loopback and nothing link-local
//	emulator       true: the stack is for an emulator on this machine, where deliveries may reach loopback; default: false
//	corsOrigins    origins of web pages that may read answers, comma separated, or none; default: any
//	reserved       reserved concurrency, function=calls, comma separated; default: none, since a new account has little
//	queueCalls     concurrent calls that each of the three queues makes of its worker at most; default: 100
//	firewall       true: AWS WAF in front of the API
//	egress         fixed: webhooks, syncs, certifications and sign-ins leave from two fixed addresses; default: from any of AWS's
//	domain         address of the API, such as api.example.com or api.example.com/v1; needs certificate
//	certificate    ARN of a certificate of ACM for the domain, in the region of the stack
//	zone           id of a hosted zone of Route 53 that gets the domain's records; default: the operator sets them
//	canary         on: a deployment moves each route group's requests to the new version in two steps, and an alarm of the function
//	               moves them back; default: off
//	alarmTopic     ARN of the SNS topic for alarms, or none; without it, make deploy asks
//	budget         dollars a month of the whole account; the topic hears when they are used up or will be; default: no budget
//	applications   ARN of the secret with the applications that the operator has registered with providers; default: users paste tokens
//	mailFrom       address that mails come from, such as Orgops <orgops@example.com>, whose domain SES has verified in the region; default: no mails
//	slackSecret    ARN of a secret of Secrets Manager in the region with the Slack app, a JSON object with clientId, clientSecret and signingSecret;
//	               default: no app
//	slackUrl       address of a fake Slack; only next to emulator=true
//	executives     false: leaves the Executive Runtime out, as EXECUTIVES_ENABLED=false does locally; default: true
//	planLimits     false: the functions do not count the requests of the free plan, as for an emulator; default: true
//	assets         folder with <function>/bootstrap; default: build
//
// and, to replace the key that wraps companies' data keys,
//
//	wrappingKey         number of the key that wraps them; default: 1, the first; a higher number creates another
//	formerWrappingKeys  keys that still unwrap, comma separated: numbers as above, or ARNs of keys outside the stack, or none;
//	                    default: the number before wrappingKey, without which data keys could no longer be unwrapped
//
// and, to use tables that `orgops admin table restore` has restored, until the end of their life,
//
//	mainTable  ARN of the stream of the restored main table, as the command prints it
//	keysTable  name of the restored keys table
type settings struct {
	function.Settings
	tenant, topic string
	budget        float64 // dollars a month; 0: none
	applications  string
	firewall      bool
	egress        bool // fixed addresses
	noExecutives  bool
	canary        bool
	unlimited     bool // no limits of the free plan
	wrapping      data.Wrapping
	restored      data.Restored
	domain        api.Domain
	origins       web.Origins
}

// atOnce is the default of queueCalls. By default an account has 1,000 concurrent calls for all of its functions, and a new
// account may have 10. A queue with a day's backlog would use them all; the limit leaves most of them to the API. Messages above
// the limit wait in the queue, and waiting counts as no attempt.
const atOnce = 100

// Bounds of queueCalls, which are those of a queue's mapping.
const minQueueCalls, maxQueueCalls = 2, 1000

// longestSet limits the name of a configuration set of SES.
const longestSet = 64

const tenantName = `^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`

// secretARN matches the whole ARN of a secret. Without the characters at its end, a grant would not cover the secret.
var secretARN = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$`)

// read reads the context. Its error lists everything that is wrong.
func read(node constructs.Node) (settings, error) {
	value := func(name string) string {
		if v := node.TryGetContext(&name); v != nil {
			return strings.TrimSpace(fmt.Sprint(v))
		}
		return ""
	}
	s := settings{tenant: value("tenant"), topic: value("alarmTopic"), Settings: function.Settings{Assets: built}}
	if s.topic == "none" {
		s.topic = ""
	}
	if assets := value("assets"); assets != "" {
		s.Assets = assets
	}
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if s.tenant != "" && !regexp.MustCompile(tenantName).MatchString(s.tenant) {
		wrong("context tenant: %q does not match %s", s.tenant, tenantName)
	}
	switch arch := value("arch"); arch {
	case "", "arm64":
		s.Architecture = awslambda.Architecture_ARM_64()
	case "x86_64":
		s.Architecture = awslambda.Architecture_X86_64()
	default:
		wrong("context arch: %q is neither arm64 nor x86_64", arch)
	}
	chosen := func(name, yes, no, usual string) bool {
		is := cmp.Or(value(name), usual)
		if is != yes && is != no {
			wrong("context %s: %q is neither %s nor %s", name, is, yes, no)
		}
		return is == yes
	}
	s.firewall = chosen("firewall", "true", "false", "false")
	switch egress := value("egress"); egress {
	case "", "fixed":
		s.egress = egress == "fixed"
	default:
		wrong("context egress: %q is not fixed", egress)
	}
	if budget := value("budget"); budget != "" {
		dollars, err := strconv.ParseFloat(budget, 64)
		if s.budget = dollars; err != nil || !(dollars >= 1 && dollars <= 1e6) || s.topic == "" {
			wrong("context budget: %q is not a number of dollars from 1 to 1000000 next to an alarmTopic, which hears of it", budget)
		}
	}
	if s.applications = value("applications"); s.applications != "" && !secretARN.MatchString(s.applications) {
		wrong("context applications: %q is not the whole ARN of a secret, with the six characters at its end", s.applications)
	}
	if s.MailFrom = value("mailFrom"); s.MailFrom != "" {
		if _, err := mail.ParseFrom(s.MailFrom); err != nil {
			wrong("context mailFrom: %w", err)
		}
		if s.MailSet = s.stack(); len(s.MailSet) > longestSet {
			wrong("context mailFrom: the tenant's name is longer than %d characters, and SES takes no such name for the set of the mails", longestSet-len("Orgops-"))
		}
	}
	if s.SlackSecret = value("slackSecret"); s.SlackSecret != "" && !secretARN.MatchString(s.SlackSecret) {
		wrong("context slackSecret: %q is not the whole ARN of a secret, with the six characters at its end", s.SlackSecret)
	}
	s.noExecutives = !chosen("executives", "true", "false", "true")
	s.canary = chosen("canary", "on", "off", "off")
	s.unlimited = !chosen("planLimits", "true", "false", "true")
	emulator := chosen("emulator", "true", "false", "false")
	if s.SlackURL = value("slackUrl"); s.SlackURL != "" && !emulator {
		wrong("context slackUrl: %q stands for Slack only in an emulator", s.SlackURL)
	}
	var err error
	if s.AllowNetworks, err = networks(value("allowNetworks"), !emulator); err != nil {
		problems = append(problems, err)
	}
	if s.origins, err = config.Origins(cmp.Or(value("corsOrigins"), web.AnyOrigin)); err != nil {
		wrong("context corsOrigins: %w", err)
	}
	if s.Reserved, err = reserved(value("reserved")); err != nil {
		problems = append(problems, err)
	}
	if s.QueueCalls, err = queueCalls(value("queueCalls")); err != nil {
		problems = append(problems, err)
	}
	if s.wrapping, err = wrapping(value("wrappingKey"), value("formerWrappingKeys")); err != nil {
		problems = append(problems, err)
	}
	if s.domain, err = domain(value("domain"), value("certificate"), value("zone")); err != nil {
		problems = append(problems, err)
	}
	if s.restored, err = restored(value("mainTable"), value("keysTable")); err != nil {
		problems = append(problems, err)
	}
	return s, errors.Join(problems...)
}

var keyARN = regexp.MustCompile(`^arn:[a-z-]+:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+$`)

func wrapping(number, former string) (data.Wrapping, error) {
	w := data.Wrapping{Number: 1}
	if number != "" {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return w, fmt.Errorf("context wrappingKey: %q is not a number of at least 1", number)
		}
		w.Number = n
	}
	switch {
	case former == "none":
		return w, nil
	case former == "" && w.Number > 1:
		former = strconv.Itoa(w.Number - 1)
	}
	for _, text := range split(former) {
		n, err := strconv.Atoi(text)
		switch {
		case keyARN.MatchString(text):
			w.FormerARNs = append(w.FormerARNs, text)
		case err != nil || n < 1 || n == w.Number || slices.Contains(w.Former, n):
			return w, fmt.Errorf("context formerWrappingKeys: %q is neither the number of a key other than wrappingKey nor a key's ARN", text)
		default:
			w.Former = append(w.Former, n)
		}
	}
	return w, nil
}

var (
	domainName     = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9](/[A-Za-z0-9_-]{1,64})?$`)
	certificateARN = regexp.MustCompile(`^arn:[a-z-]+:acm:[a-z0-9-]+:\d{12}:certificate/[A-Za-z0-9-]+$`)
	zoneID         = regexp.MustCompile(`^Z[A-Z0-9]{1,31}$`)
)

// domain reads the address of the API. A base path that is named like the stage would be that of the generated address too, and
// nothing would tell a request at one from a request at the other.
func domain(name, certificate, zone string) (api.Domain, error) {
	switch {
	case name == "" && certificate == "" && zone == "":
		return api.Domain{}, nil
	case !domainName.MatchString(name) || strings.HasSuffix(name, "/"+api.Stage):
		return api.Domain{}, fmt.Errorf("context domain: %q is not a name such as api.example.com or api.example.com/v1; the base path %s is taken", name, api.Stage)
	case !certificateARN.MatchString(certificate):
		return api.Domain{}, fmt.Errorf("context certificate: %q is not the ARN of a certificate of ACM, which the domain needs", certificate)
	case zone != "" && !zoneID.MatchString(zone):
		return api.Domain{}, fmt.Errorf("context zone: %q is not the id of a hosted zone, such as Z0123456789ABCDEFGHIJ", zone)
	}
	host, path, _ := strings.Cut(name, "/")
	if path != "" {
		path = "/" + path
	}
	return api.Domain{Name: host, BasePath: path, Certificate: certificate, Zone: zone}, nil
}

var (
	streamARN = regexp.MustCompile(`^arn:[a-z-]+:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]{3,255}/stream/[0-9T:.-]+$`)
	tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)
)

// restored reads the names of restored tables. The name of the main table alone is not enough: its stream has a time in its ARN.
func restored(mainStream, keys string) (data.Restored, error) {
	if mainStream != "" && !streamARN.MatchString(mainStream) {
		return data.Restored{}, fmt.Errorf("context mainTable: %q is not the ARN of a table's stream; pass what `orgops admin table restore` prints", mainStream)
	}
	if keys != "" && !tableName.MatchString(keys) {
		return data.Restored{}, fmt.Errorf("context keysTable: %q is not the name of a table", keys)
	}
	return data.Restored{MainStream: mainStream, Keys: keys}, nil
}

func reserved(list string) (map[string]float64, error) {
	calls := map[string]float64{}
	for _, text := range split(list) {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("context reserved: %q is not function=calls, such as dispatcher=20", text)
		}
		calls[name] = float64(n)
	}
	return calls, nil
}

func queueCalls(number string) (float64, error) {
	n, err := strconv.Atoi(cmp.Or(number, strconv.Itoa(atOnce)))
	if err != nil || n < minQueueCalls || n > maxQueueCalls {
		return 0, fmt.Errorf("context queueCalls: %q is not a number from %d to %d", number, minQueueCalls, maxQueueCalls)
	}
	return float64(n), nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func (s settings) stack() string {
	if s.tenant == "" {
		return "Orgops"
	}
	return "Orgops-" + s.tenant
}

func (s settings) shownNetworks() string {
	if s.AllowNetworks == "" {
		return "none"
	}
	return s.AllowNetworks
}

// reserves refuses reserved concurrency for an unknown function.
func (s settings) reserves(functions []*function.Function) error {
	var names []string
	for _, f := range functions {
		names = append(names, f.Name)
	}
	for name := range s.Reserved {
		if !slices.Contains(names, name) {
			return fmt.Errorf("context reserved: unknown function %q; use one of %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}
