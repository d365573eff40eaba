package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizes returns the numbers of companies that the bill is computed for.
func sizes() []int { return []int{10, 1_000, 10_000} }

// table prints the steps as a Markdown table.
func table() string {
	var b strings.Builder
	b.WriteString("| operation or step | gets | queries | puts | transactions | read units | write units | SQS | KMS | secrets |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range steps() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", s.name, count(s.gets), count(s.queries), count(s.puts+s.deletes),
			count(s.transactions), plain(s.read), plain(s.written), count(s.queue), count(s.keys), count(s.secrets))
	}
	return b.String()
}

func count(n int) string { return plain(float64(n)) }

func plain(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%g", n)
}

// summary prints the bill for the README: the fixed part in one row, then what each company adds.
func summary(s stack, p prices) string {
	var b strings.Builder
	b.WriteString(heading("a company's", "at") + "\n| fixed | | |")
	total := make([]float64, len(sizes()))
	add := func(i int, dollars float64) {
		total[i] += dollars
		fmt.Fprintf(&b, " %s |", money(dollars))
	}
	for i := range sizes() {
		add(i, sum(fixed(s, p)))
	}
	for at, l := range variable(1, s, p) {
		fmt.Fprintf(&b, "\n| %s: %s | %s | %s |", l.service, l.what, grouped(l.quantity), l.price)
		for i, n := range sizes() {
			add(i, variable(n, s, p)[at].dollars())
		}
	}
	b.WriteString("\n| **all** | | |")
	for _, dollars := range total {
		fmt.Fprintf(&b, " **%s** |", money(dollars))
	}
	b.WriteString("\n| by company | | |")
	for i, n := range sizes() {
		fmt.Fprintf(&b, " %s |", money(total[i]/float64(n)))
	}
	return b.String() + "\n"
}

// heading begins a table with a column for each number of companies.
func heading(columns ...string) string {
	row, line := "| dollars a month |", "\n|---|"
	for _, c := range columns {
		row += " " + c + " |"
		line += "---|"
	}
	for _, n := range sizes() {
		row += " " + grouped(float64(n)) + " |"
	}
	return row + line + strings.Repeat("---|", len(sizes()))
}

// byPart prints the bill by the parts of the service.
func byPart(s stack, p prices) string {
	var b strings.Builder
	b.WriteString(heading())
	total := make([]float64, len(sizes()))
	row := func(name string, cost func(companies int) float64) {
		b.WriteString("\n| " + name + " |")
		for i, n := range sizes() {
			dollars := cost(n)
			total[i] += dollars
			fmt.Fprintf(&b, " %s |", money(dollars))
		}
	}
	row("fixed", func(int) float64 { return sum(fixed(s, p)) })
	for _, one := range parts() {
		row(string(one), func(n int) float64 { return partCost(one, n, s, p) })
	}
	row("stored data", func(n int) float64 { return sum(kept(n, p)) })
	b.WriteString("\n| **all** |")
	for _, dollars := range total {
		fmt.Fprintf(&b, " **%s** |", money(dollars))
	}
	return b.String() + "\n"
}

// arithmetic prints the lines of a bill with their sum.
func arithmetic(title string, lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s: %s | %s | %s | %s |\n", l.service, l.what, grouped(l.quantity), l.price, money(l.dollars()))
	}
	return "| " + title + " | quantity | at | |\n|---|---|---|---|\n" + b.String() + fmt.Sprintf("| **all** | | | **%s** |\n", money(sum(lines)))
}

// optional prints what the parts that are off by default add to the bill.
func optional(s stack, p prices) string {
	var b strings.Builder
	b.WriteString(heading())
	for _, part := range []struct {
		name string
		cost func(int, stack, prices) float64
	}{
		{"`-c firewall=true`: a web ACL with four rules", firewall},
		{"`-c egress=fixed`: two NAT gateways with an address each, and the traffic through them", egress},
	} {
		b.WriteString("\n| " + part.name + " |")
		for _, n := range sizes() {
			fmt.Fprintf(&b, " %s |", money(part.cost(n, s, p)))
		}
	}
	return b.String() + "\n"
}

// firewallRules is how many rules infra/api/firewall.go has.
const firewallRules = 4

func firewall(companies int, s stack, p prices) float64 {
	return p.firewall.of(1) + p.firewallRule.of(firewallRules) + p.firewallCheck.of(volumeOf(companies, s).requests)
}

// egress computes with twice what is sent to the internet. That is more than what passes the gateways: answers of the API do not, and
// what is fetched is less than that.
func egress(companies int, s stack, p prices) float64 {
	const gateways = 2
	return p.gatewayHour.of(gateways*hoursAMonth) + p.addressHour.of(gateways*hoursAMonth) + p.translated.of(2*volumeOf(companies, s).sent)
}

func volumeOf(companies int, s stack) volume {
	return month(day(), float64(companies)*daysAMonth, s, batchingOf(companies, s))
}

// sources prints the prices with their sources.
func (p prices) sources() string {
	var b strings.Builder
	for _, one := range p.list() {
		fmt.Fprintf(&b, "| %s | https://aws.amazon.com/%s |\n", one, one.source)
	}
	return "| price, us-east-1 | source |\n|---|---|\n" + b.String()
}

func (p price) String() string {
	dollars := strconv.FormatFloat(p.dollars, 'f', -1, 64)
	if cents := fmt.Sprintf("%.2f", p.dollars); len(cents) > len(dollars) {
		dollars = cents
	}
	return "$" + dollars + " for " + p.unit
}

// money rounds to cents below ten dollars, and to dollars above.
func money(dollars float64) string {
	if dollars < 10 {
		return fmt.Sprintf("%.2f", dollars)
	}
	return grouped(math.Round(dollars))
}

// grouped formats a number with comma-separated thousands. Below 100 it keeps three significant digits.
func grouped(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	if n < 100 && n != math.Trunc(n) {
		return fmt.Sprintf("%.3g", n)
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
