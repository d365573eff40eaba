package dynamostore

import (
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

// reading is the cost of a read.
func reading(c *types.ConsumedCapacity) []Usage {
	if c == nil {
		return nil
	}
	return []Usage{{Read: aws.ToFloat64(c.CapacityUnits)}}
}

// writing is the cost of a write of one item.
func writing(c *types.ConsumedCapacity) []Usage {
	if c == nil {
		return nil
	}
	return []Usage{{Write: aws.ToFloat64(c.CapacityUnits)}}
}

// transacting is the cost of a transaction: its checks are writes as well.
func transacting(tables []types.ConsumedCapacity) []Usage {
	var cost []Usage
	for _, c := range tables {
		cost = append(cost, Usage{Read: aws.ToFloat64(c.ReadCapacityUnits), Write: aws.ToFloat64(c.WriteCapacityUnits)})
	}
	return cost
}
