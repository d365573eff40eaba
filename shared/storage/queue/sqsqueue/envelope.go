package sqsqueue

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/base/text"
	"orgops/shared/storage/queue"
)

// Message attributes.
const (
	attrGroup  = "group"
	attrDue    = "due" // milliseconds since 1970
	attrHops   = "hops"
	attrBody   = "body"   // a body that is not text
	attrReason = "reason" // why the message was buried
)

const (
	maxReason   = 1 << 10
	placeholder = "-" // SQS requires a text body, even if attrBody holds the message's body
)

// envelope wraps a message to be sent to SQS.
type envelope struct {
	message queue.Message
	group   *string // the message group
	delay   int32
	reason  string
}

// entry returns the envelope as a batch entry, and its size as SQS counts it, in bytes.
func (e *envelope) entry(id string) (entry types.SendMessageBatchRequestEntry, size int) {
	attributes := make(map[string]types.MessageAttributeValue)
	set := func(name, kind, value string) {
		if value != "" {
			attributes[name] = types.MessageAttributeValue{DataType: aws.String(kind), StringValue: aws.String(value)}
			size += len(name) + len(kind) + len(value)
		}
	}
	set(attrGroup, "String", e.message.Group)
	set(attrReason, "String", e.reason)
	if !e.message.Due.IsZero() {
		set(attrDue, "Number", strconv.FormatInt(e.message.Due.UnixMilli(), 10))
	}
	if e.message.Hops > 0 {
		set(attrHops, "Number", strconv.Itoa(e.message.Hops))
	}
	body := string(e.message.Body)
	if !isText(body) {
		body = placeholder
		attributes[attrBody] = types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: e.message.Body}
		size += len(attrBody) + len("Binary") + len(e.message.Body)
	}
	return types.SendMessageBatchRequestEntry{
		Id: &id, MessageBody: &body, MessageAttributes: attributes, DelaySeconds: e.delay, MessageGroupId: e.group,
	}, size + len(body)
}

// isText reports whether SQS accepts s as a body: only the characters that XML 1.0 allows.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !isChar(r) }) < 0
}

func isChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != '\ufffe' && r != '\uffff'
}

// reasonText replaces the characters that SQS refuses and limits the length.
func reasonText(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if !isChar(r) {
			return utf8.RuneError
		}
		return r
	}, reason)
	return text.Truncate(reason, maxReason)
}

// Envelope holds a message as SQS delivers it to this package's Receive or to a Lambda function.
type Envelope struct {
	Body     string
	Receipt  string
	Receives int
	Texts    map[string]string // attributes that are strings or numbers
	Binaries map[string][]byte // binary attributes
}

// Received returns the message in the envelope. If the message is due later, the caller defers it until that time.
func (e Envelope) Received() queue.Received {
	r := queue.Received{Message: queue.Message{Body: []byte(e.Body), Group: e.Texts[attrGroup]}, Receipt: e.Receipt, Receives: e.Receives}
	if body, ok := e.Binaries[attrBody]; ok {
		r.Body = body
	}
	if ms, err := strconv.ParseInt(e.Texts[attrDue], 10, 64); err == nil {
		r.Due = time.UnixMilli(ms).UTC()
	}
	r.Hops, _ = strconv.Atoi(e.Texts[attrHops])
	return r
}

// envelopeOf converts a message that the client received.
func envelopeOf(m *types.Message) Envelope {
	e := Envelope{
		Body: aws.ToString(m.Body), Receipt: aws.ToString(m.ReceiptHandle),
		Texts: make(map[string]string), Binaries: make(map[string][]byte),
	}
	e.Receives, _ = strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	for name, a := range m.MessageAttributes {
		if a.StringValue != nil {
			e.Texts[name] = *a.StringValue
		} else {
			e.Binaries[name] = a.BinaryValue
		}
	}
	return e
}

// sentAt returns the time at which SQS accepted a message.
func sentAt(m *types.Message) time.Time {
	ms, _ := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64)
	return time.UnixMilli(ms).UTC()
}
