package lambdatest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/insight/projection"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/lambdatest"
)

// failures returns the ids of the records that a function reports as failed.
func failures(t *testing.T, f *lambdatest.Function, payload []byte) []string {
	t.Helper()
	var answer struct {
		BatchItemFailures *[]struct{ ItemIdentifier string }
	}
	into(t, f.Invoke(t, payload), &answer)
	if answer.BatchItemFailures == nil {
		t.Fatal("the answer has no batchItemFailures; Lambda would treat the whole batch as failed")
	}
	var ids []string
	for _, failure := range *answer.BatchItemFailures {
		ids = append(ids, failure.ItemIdentifier)
	}
	return ids
}

// wantFailures checks which records a function reports as failed.
func wantFailures(t *testing.T, f *lambdatest.Function, payload []byte, ids ...string) {
	t.Helper()
	if diff := cmp.Diff(ids, failures(t, f, payload)); diff != "" {
		t.Errorf("failed records (-want +got):\n%s", diff)
	}
}

func TestProjector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.start(t, "projector")
	payload := sample(t, "projector/memory-insert")
	for _, process := range []*lambdatest.Function{f, f, w.start(t, "projector")} { // a redelivery counts once
		wantFailures(t, process, payload)
		known, _, err := projection.Load(t.Context(), store.For(w.main, sampleCompany))
		errtest.Must(t, err)
		if got, want := [...]int64{known.Memory.Total, known.ContextVersion}, [...]int64{1, 1}; got != want {
			t.Fatalf("memories and version = %v, want %v", got, want)
		}
	}
	for _, name := range []string{"projector/delivery-modify", "projector/ttl-remove"} {
		wantFailures(t, f, sample(t, name))
	}
}

// secondRecord is the id of the second record of an event that many returns.
const secondRecord = "40000000000019982340000000002"

// TestProjector_Failures checks that a company whose changes cannot be stored now is redelivered from its first record, and
// that a record of no company does not block the others.
func TestProjector_Failures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	payload := many(t, "strange", sampleCompany, sampleCompany)
	wantFailures(t, w.start(t, "projector"), payload)
	away := w.start(t, "projector", "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1")
	wantFailures(t, away, payload, secondRecord)
}

// many returns an event with the sample's record for each company. "strange" gives a record that belongs to no company.
func many(t *testing.T, companies ...string) []byte {
	t.Helper()
	var records []string
	for i, company := range companies {
		var e struct{ Records []json.RawMessage }
		if err := json.Unmarshal(sample(t, "projector/memory-insert"), &e); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(e.Records[0]), "40000000000019982340000000001", "4000000000001998234000000000"+string(rune('1'+i)))
		if company == "strange" {
			text = strings.ReplaceAll(text, "C#"+sampleCompany, "X#1")
		}
		records = append(records, text)
	}
	return []byte(`{"shardId":"shard","Records":[` + strings.Join(records, ",") + `]}`)
}

// taken receives the next message of a queue, which may be due only in some seconds.
func taken(t *testing.T, q queue.Queue) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := q.Receive(ctx, 1, time.Minute)
	errtest.Must(t, err)
	if len(got) != 1 {
		t.Fatalf("%d messages, want 1", len(got))
	}
	return string(got[0].Body)
}

func TestDispatcher(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").withQueues(t)
	f := w.start(t, "dispatcher")
	for _, name := range []string{"dispatcher/memory-insert", "dispatcher/ttl-remove", "dispatcher/delivery-modify"} {
		wantFailures(t, f, sample(t, name))
	}
	run := strings.NewReplacer("MEMORY#", "SYNC#", `"memory"`, `"sync"`).Replace(string(many(t, sampleCompany)))
	wantFailures(t, f, []byte(run))
	if got, want := taken(t, w.syncs), `"run":"0197c1d2-4a00-8b11-8c22-d333e444f555"`; !strings.Contains(got, want) {
		t.Errorf("queued message = %s, want one with %s", got, want)
	}
	away := w.start(t, "dispatcher", "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1")
	wantFailures(t, away, many(t, "strange", sampleCompany, sampleCompany), secondRecord)
}

// TestWorkers checks that a finished message is acknowledged, that a failed one is redelivered, and that an undecodable one
// becomes a dead letter.
func TestWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").withQueues(t)
	for function, q := range map[string]queue.Queue{"retrier": w.retries, "syncer": w.syncs, "notifier": w.notices} {
		t.Run(function, func(t *testing.T) {
			job := sample(t, function+"/job")
			f := w.start(t, function)
			wantFailures(t, f, job) // the job's company does not exist
			away := w.start(t, function, "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1")
			wantFailures(t, away, job, "3f1b6a0e-7d5c-4b8a-9e21-6c4d2f7a8b90")
			wantFailures(t, f, message(t, job, "nonsense", ""))
			letters, err := q.DeadLetters(t.Context(), 10)
			errtest.Must(t, err)
			var bodies []string
			for _, l := range letters {
				bodies = append(bodies, string(l.Body))
			}
			if diff := cmp.Diff([]string{"nonsense"}, bodies); diff != "" {
				t.Errorf("dead letters (-want +got):\n%s", diff)
			}
			wantFailures(t, f, message(t, job, "early", "1"))
			if got := taken(t, q); got != "early" {
				t.Errorf("postponed message = %s, want early", got)
			}
		})
	}
}

// message returns an event with this body, due in so many seconds; "" for no due time.
func message(t *testing.T, job []byte, body, seconds string) []byte {
	t.Helper()
	var e events.SQSEvent
	if err := json.Unmarshal(job, &e); err != nil {
		t.Fatal(err)
	}
	e.Records[0].Body = body
	if seconds != "" {
		d, err := time.ParseDuration(seconds + "s")
		if err != nil {
			t.Fatal(err)
		}
		due := jsonNumber(time.Now().Add(d).UnixMilli())
		e.Records[0].MessageAttributes = map[string]events.SQSMessageAttribute{"due": {DataType: "Number", StringValue: &due}}
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestTicker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").withQueues(t)
	if r := w.start(t, "ticker").Invoke(t, sample(t, "ticker/minute")); r.Failed {
		t.Errorf("error %q, want none", r.Error)
	}
	away := w.start(t, "ticker", "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1")
	wantError(t, away, sample(t, "ticker/minute"), "")
}
