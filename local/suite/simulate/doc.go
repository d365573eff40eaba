// Package simulate runs the projector, the dispatcher, the retrier, the syncer and the ticker against a simulated AWS, in
// virtual time. One seed decides everything that happens, so a failure can be repeated. All of it is in the tests.
package simulate
