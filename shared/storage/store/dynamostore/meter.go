package dynamostore

import (
	"math"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Usage sums the cost of calls: round trips, including retries, and capacity units. DynamoDB charges for a write whose
// condition fails, but it does not report the charge. Such a write counts only as a trip.
type Usage struct {
	Trips       int
	Read, Write float64 // capacity units
}

// Meter sums the cost of a store's reads and commits. It leaves out the feed's calls, because reads of a stream are not
// charged to the table. It is safe for concurrent use.
type Meter struct {
	// ByKey makes the meter count the write units of each partition key too.
	ByKey bool

	mu    sync.Mutex
	total Usage
	keys  map[string]float64
}

// TakeKeys returns the write units of each partition key since the last TakeKeys.
func (m *Meter) TakeKeys() map[string]float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.keys
	m.keys = nil
	return keys
}

// wrote counts the write units of a partition key.
func (m *Meter) wrote(key types.AttributeValue, units float64) {
	partition, ok := key.(*types.AttributeValueMemberS)
	if m == nil || !m.ByKey || !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[string]float64{}
	}
	m.keys[partition.Value] += units
}

// Take returns the usage since the last Take.
func (m *Meter) Take() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.total
	m.total = Usage{}
	return total
}

// add counts a call; cost is nil for a failed call. A nil meter counts nothing.
func (m *Meter) add(trips int, cost []Usage) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.Trips += trips
	for _, u := range cost {
		m.total.Read += u.Read
		m.total.Write += u.Write
	}
}

// reading returns the cost of a consistent read. A read costs at least one unit. DynamoDB Local reports zero for an empty
// query, so reading corrects it.
func reading(c *types.ConsumedCapacity) []Usage {
	if c == nil {
		return nil
	}
	return []Usage{{Read: max(1, aws.ToFloat64(c.CapacityUnits))}}
}

// readingMany returns the cost of a consistent read of so many items, each of which costs at least one unit. DynamoDB Local reports
// nothing for absent items, so readingMany corrects it.
func readingMany(c []types.ConsumedCapacity, items int) []Usage {
	if len(c) == 0 {
		return nil
	}
	return []Usage{{Read: max(float64(items), aws.ToFloat64(c[0].CapacityUnits))}}
}

// writing returns the cost of a write of one item.
func writing(c *types.ConsumedCapacity) []Usage {
	if c == nil {
		return nil
	}
	return []Usage{{Write: aws.ToFloat64(c.CapacityUnits)}}
}

// transacting computes the cost of a transaction by DynamoDB's published rule: two units for each started KB of a written
// item, and two units for an item that is checked or removed. DynamoDB Local reports wrong numbers: it adds up the sizes of
// all items and does not double them. The result is too low for a write that replaces a larger item of more than a KB.
func (m *Meter) transacting(items []types.TransactWriteItem) []Usage {
	var cost Usage
	for _, item := range items {
		size, key := 0, attributes{}
		switch {
		case item.Put != nil:
			size, key = sizeOf(item.Put.Item), item.Put.Item
		case item.Delete != nil:
			key = item.Delete.Key
		case item.ConditionCheck != nil:
			key = item.ConditionCheck.Key
		}
		units := 2 * max(1, math.Ceil(float64(size)/1024))
		m.wrote(key[attrPartition], units)
		cost.Write += units
	}
	return []Usage{cost}
}

// sizeOf returns an item's size as DynamoDB counts it: the bytes of names, strings and binaries, half a byte per digit, and
// one byte per boolean.
func sizeOf(item attributes) int {
	size := 0
	for name, value := range item {
		size += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += (len(v.Value)+1)/2 + 1
		case *types.AttributeValueMemberB:
			size += len(v.Value)
		case *types.AttributeValueMemberBOOL:
			size++
		}
	}
	return size
}
