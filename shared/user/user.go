// Package user is the people and machines that act in a company: their roles, the scopes those give, and their logins.
package user
