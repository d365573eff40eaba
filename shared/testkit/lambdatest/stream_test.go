package lambdatest_test

import (
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/memory"
)

func checkStream(text []byte) error {
	var e events.DynamoDBEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	return checkRecords(e)
}

// checkWindow checks an event of a mapping with a tumbling window.
func checkWindow(text []byte) error {
	var e events.DynamoDBTimeWindowEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	if e.ShardID == "" || !e.Window.Start.Before(e.Window.End.Time) || e.State == nil {
		return fmt.Errorf("shard %q, window %v, state %v", e.ShardID, e.Window, e.State)
	}
	return checkRecords(e.DynamoDBEvent)
}

func checkRecords(e events.DynamoDBEvent) error {
	for _, r := range e.Records {
		if err := checkRecord(r); err != nil {
			return err
		}
	}
	return some(len(e.Records))
}

func checkRecord(r events.DynamoDBEventRecord) error {
	c := r.Change
	old, is := len(c.OldImage) > 0, len(c.NewImage) > 0
	shape := map[string]bool{"INSERT": !old && is, "MODIFY": old && is, "REMOVE": old && !is}
	switch {
	case r.EventSource != "aws:dynamodb" || r.EventID == "" || c.SequenceNumber == "" || c.StreamViewType != "NEW_AND_OLD_IMAGES" ||
		c.ApproximateCreationDateTime.IsZero() || !strings.Contains(r.EventSourceArn, "/stream/"):
		return fmt.Errorf("record %s of %s", r.EventID, r.EventSourceArn)
	case !shape[r.EventName]:
		return fmt.Errorf("%s with the old image %t, the new one %t", r.EventName, old, is)
	case r.EventName == "REMOVE" && (r.UserIdentity == nil || *r.UserIdentity != events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}):
		return fmt.Errorf("removed by %v", r.UserIdentity)
	}
	for _, image := range []map[string]events.DynamoDBAttributeValue{c.OldImage, c.NewImage} {
		if err := checkItem(c.Keys, image); len(image) > 0 && err != nil {
			return err
		}
	}
	return nil
}

// checkItem checks that an item has its attributes, and that its body decodes as its entity and belongs under its key.
func checkItem(keys, image map[string]events.DynamoDBAttributeValue) error {
	for name, kind := range map[string]events.DynamoDBDataType{
		"pk": events.DataTypeString, "sk": events.DataTypeString, "entity": events.DataTypeString, "version": events.DataTypeNumber,
		"body": events.DataTypeString,
	} {
		if value, ok := image[name]; !ok || value.DataType() != kind {
			return fmt.Errorf("attribute %s is missing or has another type", name)
		}
	}
	for _, name := range []string{"pk", "sk"} {
		if keys[name].DataType() != events.DataTypeString || keys[name].String() != image[name].String() {
			return fmt.Errorf("the key and the image differ in %s", name)
		}
	}
	body := []byte(image["body"].String())
	key := image["sk"].String()
	switch entity := image["entity"].String(); entity {
	case memory.Entity:
		var m memory.Memory
		err := decode(body, &m)
		return under(key, err, memory.Prefix+m.ID)
	case delivery.Entity:
		var d delivery.Delivery
		err := decode(body, &d)
		return under(key, err, delivery.Key(d.EventID, d.Endpoint))
	default:
		return fmt.Errorf("entity %s", entity)
	}
}

func under(key string, decoded error, want string) error {
	if decoded == nil && key != want {
		return fmt.Errorf("the key is %s, want %s as in the body", key, want)
	}
	return decoded
}
