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

// Stream holds the records of a table's changes. The records of one partition key are in one shard, or in its descendants
// after a split. Its methods are safe for concurrent use.
type Stream struct {
	mu     sync.Mutex
	last   int64
	shards []*Shard
	all    []dynamostore.Record
}

// Shard holds the records of a range of hashed partition keys.
type Shard struct {
	ID     string
	Parent *Shard // its records come first; nil for the first shard

	stream    *Stream
	low, high uint32 // both included
	records   []dynamostore.Record
	closed    bool
}

func newStream() *Stream {
	s := &Stream{}
	s.shards = []*Shard{{ID: "shard-0", stream: s, high: ^uint32(0)}}
	return s
}

// add numbers records and appends each to its shard.
func (s *Stream) add(records ...dynamostore.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.last++
		r.Sequence = fmt.Sprintf("%d%021d", 1, s.last)
		shard := s.open(hash(Attribute(r, "pk")))
		shard.records = append(shard.records, r)
		s.all = append(s.all, r)
	}
}

func (s *Stream) open(hash uint32) *Shard {
	i := slices.IndexFunc(s.shards, func(sh *Shard) bool { return !sh.closed && sh.low <= hash && hash <= sh.high })
	return s.shards[i]
}

// Split closes a shard and opens two that take its later records. A shard that is closed or covers one hash stays.
func (s *Stream) Split(sh *Shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.closed || sh.low == sh.high {
		return
	}
	sh.closed = true
	middle := sh.low + (sh.high-sh.low)/2
	for _, half := range [][2]uint32{{sh.low, middle}, {middle + 1, sh.high}} {
		s.shards = append(s.shards, &Shard{
			ID: "shard-" + strconv.Itoa(len(s.shards)), Parent: sh, stream: s, low: half[0], high: half[1],
		})
	}
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

// Records returns the records of all shards from the given one on, in the order of their numbers.
func (s *Stream) Records(from int) []dynamostore.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[min(from, len(s.all)):]
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
