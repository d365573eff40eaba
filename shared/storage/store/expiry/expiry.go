// Package expiry converts expiry times between the contract's time.Time and the whole seconds that drivers store.
package expiry

import "time"

// Seconds returns the Unix seconds of an expiry, 0 for never. It maps times before 1970 to 1, because 0 means never.
func Seconds(expires time.Time) int64 {
	if expires.IsZero() {
		return 0
	}
	return max(expires.Unix(), 1)
}

// Time returns the expiry stored as these seconds, in UTC. It maps 0 to the zero time, never.
func Time(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Live reports whether an item with this expiry exists at now. An item is absent from its expiry second on.
func Live(expires, now time.Time) bool { return expires.IsZero() || now.Unix() < expires.Unix() }
