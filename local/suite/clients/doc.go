// Package clients tests that other languages' generators make clients of the OpenAPI document that compile and work.
// README.md lists them.
package clients
