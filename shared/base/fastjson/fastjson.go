// Package fastjson encodes and decodes JSON of the service's own: the bodies of stored items and the payloads of events. Most reads and
// every change of the feed decode some.
package fastjson

import jsonv1 "github.com/go-json-experiment/json/v1"

// Unmarshal decodes body into the value that into points to. It gives what encoding/json gives, in half to two thirds of the
// time: this module is where encoding/json/v2 is developed, and its package v1 behaves like encoding/json. The exception is a
// field of type json.Number, for which it refuses a number.
func Unmarshal(body []byte, into any) error { return jsonv1.Unmarshal(body, into) }

// Marshal returns the JSON of a value. It gives what encoding/json gives, in half of the time if the value holds JSON that is encoded
// already, which encoding/json compacts again.
func Marshal(value any) ([]byte, error) { return jsonv1.Marshal(value) }
