package sqsqueue

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/queue"
)

// The attributes of a message.
const (
	attrGroup  = "group"
	attrDue    = "due"    // milliseconds since 1970
	attrBody   = "body"   // a body that is no text
	attrReason = "reason" // why it is a dead letter
)

const (
	maxReason   = 1 << 10
	placeholder = "-" // the text of a message whose body is an attribute: SQS wants one
)

// envelope is a message on its way into SQS.
type envelope struct {
	message queue.Message
	group   *string // the message group
	delay   int32
	reason  string
}

// entry is the envelope as SQS takes it, and how many bytes SQS counts for it.
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

// isText reports whether SQS takes a text as a body: the characters that XML 1.0 allows.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !isChar(r) }) < 0
}

func isChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != '\ufffe' && r != '\uffff'
}

// reasonText makes a reason one that SQS takes, of bounded length.
func reasonText(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if !isChar(r) {
			return utf8.RuneError
		}
		return r
	}, reason)
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return reason
}

// Envelope is a message as any reader of the queue gets it: this package's Receive, or a Lambda.
type Envelope struct {
	Body     string
	Receipt  string
	Receives int
	Texts    map[string]string // attributes that are strings or numbers
	Binaries map[string][]byte // attributes that are neither
}

// Received is the message in the envelope. One that is due later has yet to wait: it is to be put off until then.
func (e Envelope) Received() queue.Received {
	r := queue.Received{Message: queue.Message{Body: []byte(e.Body), Group: e.Texts[attrGroup]}, Receipt: e.Receipt, Receives: e.Receives}
	if body, ok := e.Binaries[attrBody]; ok {
		r.Body = body
	}
	if ms, err := strconv.ParseInt(e.Texts[attrDue], 10, 64); err == nil {
		r.Due = time.UnixMilli(ms).UTC()
	}
	return r
}

// envelopeOf opens what the client received.
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

// sentAt is when SQS took a message.
func sentAt(m *types.Message) time.Time {
	ms, _ := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64)
	return time.UnixMilli(ms).UTC()
}
