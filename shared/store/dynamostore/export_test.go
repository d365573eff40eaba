package dynamostore

// Streams is what the feed asks of the stream's client.
type Streams = streams

// ReadFrom makes the feed read another stream than the table's.
func (s *Store) ReadFrom(from Streams) { s.stream = from }
