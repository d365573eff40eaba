package simstore

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

// Stream holds the records of a table's changes. A shard holds those of a range of places: of hashed partition keys, and of
// the sort keys in each. So a split may separate the items of one partition key. Its methods are safe for concurrent use.
type Stream struct {
	mu     sync.Mutex
	shards []*Shard
	all    []dynamostore.Record
	of     []*Shard // that holds the record of all
}

// Shard holds the records of a range of places. Its sequence numbers rise. They say nothing about those of another shard.
type Shard struct {
	ID     string
	Parent *Shard // its records come first; nil for the first shard

	stream    *Stream
	low, high string // places, the first included; high "": no end
	last      uint64 // sequence number
	records   []dynamostore.Record
	closed    bool
}

func newStream() *Stream {
	s := &Stream{}
	s.grow(nil, "", "")
	return s
}

// grow adds a shard. Its id decides where its numbers begin: as often below as above those of the others.
func (s *Stream) grow(parent *Shard, low, high string) {
	id := "shard-" + strconv.Itoa(len(s.shards))
	s.shards = append(s.shards, &Shard{ID: id, Parent: parent, stream: s, low: low, high: high, last: uint64(hash(id)) % 10_000})
}

// place returns where the item of a record lies: first by the hash of its partition key, then by its sort key.
func place(r dynamostore.Record) string {
	pk := Attribute(r, "pk")
	return fmt.Sprintf("%08x %s %s", hash(pk), pk, Attribute(r, "sk"))
}

// add numbers records and appends each to its shard.
func (s *Stream) add(records ...dynamostore.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		shard := s.open(place(r))
		shard.last++
		r.Sequence = fmt.Sprintf("%d%021d", 1, shard.last)
		shard.records = append(shard.records, r)
		s.all, s.of = append(s.all, r), append(s.of, shard)
	}
}

func (s *Stream) open(place string) *Shard {
	i := slices.IndexFunc(s.shards, func(sh *Shard) bool { return !sh.closed && sh.low <= place && (sh.high == "" || place < sh.high) })
	return s.shards[i]
}

// recent is how many of a shard's records tell where it is hot.
const recent = 100

// Split closes a shard and opens two that take its later records. It cuts the shard where half of its recent records lie on either
// side, as DynamoDB does with a hot partition. It returns false for a shard that is closed or has the records of one item only.
func (s *Stream) Split(sh *Shard) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var places []string
	for _, r := range sh.records[max(len(sh.records)-recent, 0):] {
		places = append(places, place(r))
	}
	slices.Sort(places)
	if sh.closed || len(places) == 0 || places[0] == places[len(places)-1] {
		return false
	}
	middle := places[len(places)/2]
	if middle == places[0] { // a hot item gets a shard of its own
		i := slices.IndexFunc(places, func(place string) bool { return place > middle })
		middle = places[i]
	}
	sh.closed = true
	s.grow(sh, sh.low, middle)
	s.grow(sh, middle, sh.high)
	return true
}

// Shards returns all shards, the oldest first.
func (s *Stream) Shards() []*Shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shards)
}

// Len returns the number of records of all shards.
func (s *Stream) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Records returns the records of all shards from the given one on, in the order of their commits.
func (s *Stream) Records(from int) []dynamostore.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[min(from, len(s.all)):]
}

// ShardOf returns the shard that holds a record of all shards.
func (s *Stream) ShardOf(record int) *Shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[record]
}

// Records returns the shard's records from the given one on.
func (sh *Shard) Records(from int) []dynamostore.Record {
	sh.stream.mu.Lock()
	defer sh.stream.mu.Unlock()
	return sh.records[min(from, len(sh.records)):]
}

// Closed reports whether the shard gets no more records.
func (sh *Shard) Closed() bool {
	sh.stream.mu.Lock()
	defer sh.stream.mu.Unlock()
	return sh.closed
}

// Attribute returns an attribute of the new image, or of the old one if there is no new one.
func Attribute(r dynamostore.Record, name string) string {
	if r.New != nil {
		return r.New[name]
	}
	return r.Old[name]
}

// image returns the attributes of a stored item, as the stream shows them.
func (r row) image(p store.Partition) map[string]string {
	image := map[string]string{
		"pk": p.String(), "sk": r.Key, "entity": r.Entity, "version": strconv.FormatInt(r.Version, 10),
		"at": strconv.FormatInt(r.At.UnixMilli(), 10), "body": string(r.Body),
	}
	if !r.Expires.IsZero() {
		image["expires"] = strconv.FormatInt(r.Expires.Unix(), 10)
	}
	if r.quiet {
		image["quiet"] = "true"
	}
	return image
}

func hash(partition string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(partition)) // never returns an error
	return h.Sum32()
}
