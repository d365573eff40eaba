// Command cost prints what the service costs in AWS. It prints the requests of each operation and of each step of the
// workers, which this package's tests verify. It also prints the cost of a month. profile.go assumes the functions'
// durations, the sizes of logs and what a company does in a day; everything else is measured or counted.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	text, err := golden()
	if err != nil {
		return err
	}
	s, err := readStack(text)
	if err != nil {
		return err
	}
	p := listPrices()
	_, err = fmt.Fprintf(out, "# What operations and steps request\n\n%s\n# A month, by companies\n\n%s\n# The same by the parts of the service\n\n%s\n"+
		"# What optional parts add\n\n%s\n# The fixed part\n\n%s\n# Prices, before taxes and free tiers\n\n%s",
		table(), summary(s, p), byPart(s, p), optional(s, p),
		arithmetic("dollars a month", fixed(s, p)), p.sources())
	return err
}
