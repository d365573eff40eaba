package dynamostore

import (
	"math"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Usage is what calls cost: round trips, tries included, and capacity units. DynamoDB does not say what a refused write
// cost; a condition that does not hold is charged like the write, and here counts as a trip alone.
type Usage struct {
	Trips       int
	Read, Write float64 // capacity units
}

// Meter sums what a store's reads and commits cost. The feed's calls are not counted: a stream's reads are not the
// table's. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	total Usage
}

// Take returns what came together since the last Take.
func (m *Meter) Take() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.total
	m.total = Usage{}
	return total
}

// add counts a call, nil for one that failed. A nil meter counts nothing.
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

// reading is the cost of a consistent read: a unit at least, also for a query that finds nothing, which DynamoDB's local
// edition says costs none.
func reading(c *types.ConsumedCapacity) []Usage {
	if c == nil {
		return nil
	}
	return []Usage{{Read: max(1, aws.ToFloat64(c.CapacityUnits))}}
}

// writing is the cost of a write of one item.
func writing(c *types.ConsumedCapacity) []Usage {
	if c == nil {
		return nil
	}
	return []Usage{{Write: aws.ToFloat64(c.CapacityUnits)}}
}

// transacting is the cost of a transaction, by DynamoDB's published rule: two units for each KB begun of each item written,
// and for each item checked or removed. It is not asked of DynamoDB: its local edition adds up the sizes of all items and
// does not double them. What a write replaces is not known here; where that is larger than what is written, and more than
// a KB, it costs more.
func transacting(items []types.TransactWriteItem) []Usage {
	var cost Usage
	for _, item := range items {
		size := 0
		if item.Put != nil {
			size = sizeOf(item.Put.Item)
		}
		cost.Write += 2 * max(1, math.Ceil(float64(size)/1024))
	}
	return []Usage{cost}
}

// sizeOf is an item's size as DynamoDB counts it: the bytes of names, strings and binaries, half a byte a digit, and one
// for a boolean.
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
