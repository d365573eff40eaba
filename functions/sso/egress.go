package sso

import "errors"

// checkAddress refuses an address that the egress rules do not allow.
func (d Deps) checkAddress(url string) error {
	if problems := d.Client.CheckURL("", url); len(problems) > 0 {
		return errors.New(problems[0].Detail)
	}
	return nil
}
