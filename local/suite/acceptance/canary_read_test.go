package acceptance_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

// reads asks for everything that the company can read.
func (c *canaries) reads() {
	c.t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	c.call(200, "GET", "/openapi.json", nil).json(&document)
	var integrations struct{ Items []struct{ Provider string } }
	c.call(200, "GET", c.at("/integrations"), nil).json(&integrations)
	if n := len(integrations.Items); n < 6 {
		c.t.Errorf("%d integrations, want at least 6", n)
	}
	read := 0
	for path, operations := range document.Paths {
		if _, ok := operations["get"]; !ok {
			continue
		}
		for _, i := range integrations.Items {
			to := strings.NewReplacer("{companyId}", c.ID, "{provider}", i.Provider).Replace(path)
			if !strings.Contains(to, "{") {
				c.call(0, http.MethodGet, to, nil)
				read++
			}
			if !strings.Contains(path, "{provider}") {
				break
			}
		}
	}
	if read < 50 {
		c.t.Errorf("read %d resources, want at least 50", read)
	}
	for _, i := range integrations.Items {
		c.each("/integrations/"+i.Provider+"/inbox", "id")
		c.each("/integrations/"+i.Provider+"/deliveries", "deliveryId")
	}
	for _, list := range []string{"/memory", "/memory/syncs", "/goals", "/operations/users"} {
		c.each(list, "id")
	}
	c.call(200, "GET", c.at("/intelligence/brief"), nil, "Accept", "text/markdown")
}

// each asks for every item of a list, whose ids are in a field.
func (c *canaries) each(list, field string) {
	c.t.Helper()
	var page struct{ Items []map[string]any }
	a := c.call(0, "GET", c.at(list)+"?limit=100", nil)
	if a.status != http.StatusOK {
		return // this integration has no such list
	}
	a.json(&page)
	for _, item := range page.Items {
		id, _ := item[field].(string)
		c.call(200, "GET", c.at(list)+"/"+id, nil)
	}
}
