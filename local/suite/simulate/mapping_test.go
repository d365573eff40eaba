package simulate_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/local/suite/simulate/simstore"
	"orgops/shared/base/wait"
	"orgops/shared/insight/projection"
	"orgops/shared/run/lambda/stream"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store/dynamostore"
)

// following holds the settings of an event source mapping on the stream. TestSettings compares them with the template's.
type following struct {
	batch    int
	parallel int // concurrent batches of a shard
	attempts int // retries of a batch; -1: no limit
	age      time.Duration
	window   time.Duration // to gather a batch
	tumbling time.Duration // 0: the events do not name the shard
	timeout  time.Duration // of the function
}

func projecting() following {
	return following{batch: 1000, parallel: 1, attempts: -1, age: 12 * time.Hour, window: time.Second, tumbling: 15 * time.Minute, timeout: time.Minute}
}

func dispatching() following {
	return following{batch: 100, parallel: 10, attempts: -1, age: 12 * time.Hour, timeout: 2 * time.Minute}
}

// The pause after a failed batch. AWS does not document it.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
)

// readEvery is how often Lambda reads a shard. The documents call it the base rate, and do not say that a read which finds records is
// followed by another at once. Here it is not.
const readEvery = time.Second / 4

// mapping reads the stream for a function.
type mapping struct {
	following
	w        *world
	f        *function
	entities []string
	shards   []*reader
	readers  map[*simstore.Shard]*reader
	seen     int                  // records of the stream that have been read
	behind   bool                 // a shard waits for its parent, or for the next read
	dropped  []dynamostore.Record // they failed too often or are too old
}

// reader reads one shard.
type reader struct {
	shard *simstore.Shard
	next  int           // record to read
	after time.Duration // the start of a quarter of a second, the shard is read
	reads time.Time     // the next time; zero: it has no new records
	lanes []*lane
	done  bool // all records of the shard are handled
}

// lane holds records that are delivered in order. A shard has as many as the mapping's batches in parallel. All records of an
// item are in one lane.
type lane struct {
	name    string
	shard   string
	waiting []dynamostore.Record
	busy    bool
	from    time.Time // not before
	rests   time.Time // not before, too
	tries   int       // failures of the first record
}

// read takes the new records of each shard whose parent is finished, when the shard is read.
func (m *mapping) read(a *agenda) {
	written := m.w.table.Stream().Len()
	if written == m.seen && !m.behind {
		return
	}
	m.seen, m.behind = written, false
	for _, sh := range m.w.table.Stream().Shards()[len(m.shards):] {
		r := &reader{shard: sh, after: time.Duration(hash(m.f.name+" "+sh.ID)%uint32(readEvery/time.Millisecond)) * time.Millisecond}
		for i := range m.parallel {
			r.lanes = append(r.lanes, &lane{name: fmt.Sprintf("%s %s/%d", m.f.name, sh.ID, i), shard: sh.ID})
		}
		m.shards = append(m.shards, r)
		m.readers[sh] = r
	}
	for _, r := range m.shards {
		if r.shard.Parent != nil && !m.finished(r.shard.Parent) {
			m.behind = true
			continue
		}
		for _, record := range r.read(a) {
			if passes(record, m.entities) {
				m.follow(record)
				m.put(r, record)
			}
		}
		m.behind = m.behind || !r.reads.IsZero()
	}
}

// read returns the new records when the shard is read.
func (r *reader) read(a *agenda) []dynamostore.Record {
	records := r.shard.Records(r.next)
	if len(records) == 0 {
		return nil
	}
	if r.reads.IsZero() {
		r.reads = a.now.Add(-r.after).Truncate(readEvery).Add(r.after)
		if r.reads.Before(a.now) {
			r.reads = r.reads.Add(readEvery)
		}
	}
	if !a.due(r.reads) {
		return nil
	}
	r.reads = time.Time{}
	r.next += len(records)
	return records
}

func (m *mapping) put(r *reader, record dynamostore.Record) {
	l := r.lanes[int(hash(simstore.Attribute(record, "pk")+"/"+simstore.Attribute(record, "sk"))>>3)%len(r.lanes)]
	if len(l.waiting) == 0 {
		l.from = time.Now().Add(m.window)
	}
	l.waiting = append(l.waiting, record)
}

// follow tells that a record is read, or given to the function.
func (m *mapping) follow(r dynamostore.Record) {
	if m.w.followed != nil {
		m.w.followed(m, r)
	}
}

func hash(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never returns an error
	return h.Sum32()
}

// finished reports whether all records of a shard are handled.
func (m *mapping) finished(sh *simstore.Shard) bool {
	r := m.readers[sh]
	if r == nil || r.done {
		return r != nil
	}
	r.done = sh.Closed() && len(sh.Records(r.next)) == 0 && (sh.Parent == nil || m.finished(sh.Parent)) &&
		!slices.ContainsFunc(r.lanes, func(l *lane) bool { return len(l.waiting) > 0 })
	return r.done
}

// list adds the batches that can be delivered.
func (m *mapping) list(a *agenda) {
	m.read(a)
	for _, r := range m.shards {
		for _, l := range r.lanes {
			if len(l.waiting) > 0 && !l.busy && m.f.available(m.w) && a.due(wait.Later(l.from, l.rests)) {
				a.add(l.name, func() { m.deliver(l) })
			}
		}
	}
}

// deliver invokes the function with the first records of a lane.
func (m *mapping) deliver(l *lane) {
	m.discard(l)
	if len(l.waiting) == 0 {
		return
	}
	n := min(len(l.waiting), m.batch)
	if n > 1 && m.w.faulty() && m.w.chance(0.3) { // a batch may be smaller
		n = 1 + m.w.random.IntN(n)
	}
	batch := l.waiting[:n:n]
	var e stream.Event
	if m.tumbling > 0 {
		e.Shard = l.shard
	}
	for _, r := range batch {
		m.follow(r)
		e.Records = append(e.Records, eventOf(r))
	}
	l.busy = true
	v := m.w.invoke(m.w.free(m.f), e, func(out any, err error) { m.answer(l, batch, out, err) })
	m.w.trace.add("%s: %s gets %d records from %s", l.name, v.name, n, batch[0].Sequence)
}

// discard drops the first record when it has failed too often, and records that are too old.
func (m *mapping) discard(l *lane) {
	for len(l.waiting) > 0 {
		old := time.Since(l.waiting[0].Created) > m.age
		if !old && (m.attempts < 0 || l.tries <= m.attempts) {
			return
		}
		m.w.trace.add("%s: dropped %s after %d tries", l.name, l.waiting[0].Sequence, l.tries)
		m.dropped = append(m.dropped, l.waiting[0])
		l.waiting, l.tries = l.waiting[1:], 0
	}
}

// answer takes what was handled out of the lane. The rest is delivered again.
func (m *mapping) answer(l *lane, batch []dynamostore.Record, out any, err error) {
	l.busy = false
	handled := len(batch)
	if err != nil {
		handled = 0
	} else if a := out.(stream.Answer); len(a.BatchItemFailures) > 0 {
		handled = position(batch, a.BatchItemFailures[0].ItemIdentifier)
	}
	again := m.w.faulty() && m.w.plan.on[twice] && m.w.chance(m.w.plan.rate)
	if handled == len(batch) && again {
		m.w.trace.add("%s: %d records once more", l.name, len(batch))
		return
	}
	l.waiting = l.waiting[handled:]
	if handled > 0 {
		l.tries = 0
	}
	if handled == len(batch) {
		return
	}
	l.tries++
	l.from = time.Now().Add(min(firstPause<<min(l.tries, 10), lastPause))
}

func position(batch []dynamostore.Record, sequence string) int {
	for i, r := range batch {
		if r.Sequence == sequence {
			return i
		}
	}
	return 0 // Lambda then retries the whole batch
}

// passes applies the filters of the mapping, as infra/events makes them.
func passes(r dynamostore.Record, entities []string) bool {
	among := func(image map[string]string) bool {
		for _, e := range entities {
			if image["entity"] == e {
				return image["quiet"] == "" && image["gone"] == ""
			}
		}
		return false
	}
	expires := projection.Expires(r.Old["entity"]) // its removal means nothing
	switch {
	case r.New == nil:
		return among(r.Old) && !expires
	case r.New["gone"] != "" && r.New["quiet"] == "": // the tombstone has the entity
		return among(map[string]string{"entity": r.New["entity"]})
	}
	return among(r.New) || r.New["quiet"] != "" && r.Old != nil && r.Old["expires"] != "" && among(r.Old) && !expires
}

// eventOf returns a record as Lambda delivers it.
func eventOf(r dynamostore.Record) events.DynamoDBEventRecord {
	var who *events.DynamoDBUserIdentity
	if r.New == nil { // a commit leaves a tombstone, so only TTL removes an item
		who = &events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	}
	return events.DynamoDBEventRecord{UserIdentity: who, Change: events.DynamoDBStreamRecord{
		SequenceNumber: r.Sequence, ApproximateCreationDateTime: events.SecondsEpochTime{Time: r.Created},
		OldImage: attributes(r.Old), NewImage: attributes(r.New),
	}}
}

func attributes(image map[string]string) map[string]events.DynamoDBAttributeValue {
	if image == nil {
		return nil
	}
	out := make(map[string]events.DynamoDBAttributeValue, len(image))
	for name, value := range image {
		switch name {
		case "version", "at", "expires":
			out[name] = events.NewNumberAttribute(value)
		case "quiet", "gone":
			out[name] = events.NewBooleanAttribute(true)
		default:
			out[name] = events.NewStringAttribute(value)
		}
	}
	return out
}

// working holds the settings of an event source mapping on a queue.
type working struct {
	batch      int
	visibility time.Duration
	timeout    time.Duration // of the function
	most       int           // concurrent invocations
}

func retrying() working {
	return working{batch: 10, visibility: 130 * time.Second, timeout: 2 * time.Minute, most: 100}
}

func syncing() working {
	return working{batch: 10, visibility: 310 * time.Second, timeout: 5 * time.Minute, most: 100}
}

func telling() working {
	return working{batch: 10, visibility: 70 * time.Second, timeout: time.Minute, most: 100}
}

// poller receives from a queue for a function.
type poller struct {
	working
	w       *world
	f       *function
	q       *line
	running int
}

func (p *poller) list(a *agenda) {
	at, ok := p.q.Next()
	if ok && p.running < p.most && p.f.available(p.w) && a.due(at) {
		a.add(p.f.name+" polls", p.poll)
	}
}

// poll invokes the function with some messages.
func (p *poller) poll() {
	p.w.checkLive()
	most := p.batch
	if p.w.faulty() && p.w.chance(0.5) {
		most = 1 + p.w.random.IntN(p.batch)
	}
	bodies := map[string]bool{}
	taken := p.q.Take(time.Now(), most, p.visibility, func(body []byte) bool { // two of one body could not be told apart
		known := bodies[string(body)]
		bodies[string(body)] = true
		return !known
	})
	if len(taken) == 0 { // they became dead letters
		return
	}
	lineage, ends := p.w.continued(p.f, taken)
	if ends { // the messages are visible again after the visibility timeout, and dead letters in the end
		return
	}
	var e events.SQSEvent
	receipts, ids := map[string]string{}, ""
	for _, l := range taken {
		receipts[l.Receipt] = l.Receipt
		ids += " " + l.Receipt
		e.Records = append(e.Records, messageOf(l.Receipt, l.Message, l.Receives))
	}
	p.running++
	v := p.w.chain(p.w.free(p.f), lineage, e, func(out any, err error) { p.answer(receipts, out, err) })
	p.w.trace.add("%s gets%s", v.name, ids)
}

// answer deletes the messages that were handled. The others are visible again after the visibility timeout.
func (p *poller) answer(receipts map[string]string, out any, err error) {
	p.running--
	if err != nil {
		return
	}
	for _, f := range out.(events.SQSEventResponse).BatchItemFailures {
		delete(receipts, f.ItemIdentifier)
	}
	for _, receipt := range sortedKeys(receipts) {
		if p.w.faulty() && p.w.plan.on[twice] && p.w.chance(p.w.plan.rate) {
			p.w.trace.add("%s stays in %s", receipt, p.q.name)
			continue
		}
		p.q.Delete(receipt)
	}
}

func messageOf(id string, sent queue.Message, receives int) events.SQSMessage {
	text := func(kind, value string) events.SQSMessageAttribute {
		return events.SQSMessageAttribute{DataType: kind, StringValue: &value}
	}
	m := events.SQSMessage{
		MessageId: id, ReceiptHandle: id, Body: string(sent.Body),
		MessageAttributes: map[string]events.SQSMessageAttribute{"group": text("String", sent.Group), "hops": text("Number", strconv.Itoa(sent.Hops))},
		Attributes:        map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)},
	}
	if !sent.Due.IsZero() {
		m.MessageAttributes["due"] = text("Number", strconv.FormatInt(sent.Due.UnixMilli(), 10))
	}
	return m
}

// adapted turns a handler of one type of event into one of any.
func adapted[In, Out any](handle func(context.Context, In) (Out, error)) func(context.Context, any) (any, error) {
	return func(ctx context.Context, in any) (any, error) { return handle(ctx, in.(In)) }
}
