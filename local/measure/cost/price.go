package main

// price holds what AWS charges in us-east-1 for a quantity of a unit, in dollars, before taxes and free tiers. The prices are
// the public list prices of 2026, each in its first tier; check them before you rely on them.
type price struct {
	dollars float64
	per     float64
	unit    string // the quantity per, in words
	source  string // page under https://aws.amazon.com
}

func (p price) of(quantity float64) float64 { return quantity / p.per * p.dollars }

const (
	million     = 1e6
	tenThousand = 1e4
)

// prices holds the price of everything that the bill counts.
type prices struct {
	gateway                               price // a request to a REST API
	lambda, compute                       price // an invocation; a GB-second on arm64
	read, written, storage, recovery      price // DynamoDB on demand; a GB stored, and with its history
	queue                                 price // a request to SQS, fair queues included
	key, keyRequest                       price // KMS
	secret, secretRequest                 price // Secrets Manager
	logged, logKept                       price // a GB of logs taken in, and stored
	metric, alarm, dashboard, trace       price // a month each; a trace recorded
	transfer                              price // a GB to the internet
	firewall, firewallRule, firewallCheck price // WAF, which is off by default
	mail                                  price // SES
	gatewayHour, addressHour, translated  price // fixed addresses, which are off by default
}

func listPrices() prices {
	return prices{
		gateway:       price{3.50, million, "a million requests", "api-gateway/pricing"},
		lambda:        price{0.20, million, "a million invocations", "lambda/pricing"},
		compute:       price{0.0000133334, 1, "a GB-second", "lambda/pricing"},
		read:          price{0.125, million, "a million read units", "dynamodb/pricing/on-demand"},
		written:       price{0.625, million, "a million write units", "dynamodb/pricing/on-demand"},
		storage:       price{0.25, 1, "a GB stored", "dynamodb/pricing/on-demand"},
		recovery:      price{0.20, 1, "a GB of history", "dynamodb/pricing/on-demand"},
		queue:         price{0.50, million, "a million requests", "sqs/pricing"}, // 0.40, and 0.10 for fair queues
		key:           price{1, 1, "a key", "kms/pricing"},
		keyRequest:    price{0.03, tenThousand, "10,000 requests", "kms/pricing"},
		secret:        price{0.40, 1, "a secret", "secrets-manager/pricing"},
		secretRequest: price{0.05, tenThousand, "10,000 requests", "secrets-manager/pricing"},
		logged:        price{0.50, 1, "a GB of logs", "cloudwatch/pricing"},
		logKept:       price{0.03, 1, "a GB of logs kept", "cloudwatch/pricing"},
		metric:        price{0.30, 1, "a metric", "cloudwatch/pricing"},
		alarm:         price{0.10, 1, "a metric of an alarm", "cloudwatch/pricing"},
		dashboard:     price{3, 1, "a dashboard", "cloudwatch/pricing"},
		trace:         price{5, million, "a million traces", "xray/pricing"},
		transfer:      price{0.09, 1, "a GB sent", "ec2/pricing/on-demand"},
		firewall:      price{5, 1, "a web ACL", "waf/pricing"},
		firewallRule:  price{1, 1, "a rule", "waf/pricing"},
		firewallCheck: price{0.60, million, "a million requests", "waf/pricing"},
		mail:          price{0.10, 1_000, "1,000 mails", "ses/pricing"},
		gatewayHour:   price{0.045, 1, "an hour of a NAT gateway", "vpc/pricing"},
		addressHour:   price{0.005, 1, "an hour of a public IPv4 address", "vpc/pricing"},
		translated:    price{0.045, 1, "a GB through a NAT gateway", "vpc/pricing"},
	}
}

// list returns all prices.
func (p prices) list() []price {
	return []price{
		p.gateway, p.lambda, p.compute, p.read, p.written, p.storage, p.recovery, p.queue, p.key, p.keyRequest, p.secret, p.secretRequest,
		p.logged, p.logKept, p.metric, p.alarm, p.dashboard, p.trace, p.transfer, p.firewall, p.firewallRule, p.firewallCheck,
		p.gatewayHour, p.addressHour, p.translated, p.mail,
	}
}
