package linear

// At makes a connector call the API at another address.
func (c *Connector) At(address string) *Connector {
	c.api = address
	return c
}
