//go:build !linux

package soak_test

// onDisk lists the faults of the disk below SQLite: none, because only Linux sets a limit of a running process.
func onDisk() []fault { return nil }
