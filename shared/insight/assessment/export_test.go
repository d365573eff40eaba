package assessment

// Rules lists the rules of all recommendations.
func Rules() []string {
	var rules []string
	for _, a := range advice() {
		rules = append(rules, a.rule)
	}
	return rules
}
