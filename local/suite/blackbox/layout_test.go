package blackbox_test

import (
	"bytes"
	"encoding/json"
	"strings"
)

// width limits the lines that hold a whole object or list.
const width = 120

// layout returns JSON text with each object and list on one line where that is short enough, and otherwise with a line for
// each member.
func layout(text string) (string, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	out, err := value(decoder, 0, 0)
	return out + "\n", err
}

// value lays out the next value, which begins at column in a line that is indented by indent.
func value(decoder *json.Decoder, indent, column int) (string, error) {
	token, err := decoder.Token()
	if err != nil {
		return "", err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return scalar(token)
	}
	var members []string
	for decoder.More() {
		var name string
		if open == '{' {
			key, err := decoder.Token()
			if err != nil {
				return "", err
			}
			if name, err = scalar(key); err != nil {
				return "", err
			}
			name += ": "
		}
		member, err := value(decoder, indent+2, indent+2+len(name))
		if err != nil {
			return "", err
		}
		members = append(members, name+member)
	}
	end, err := decoder.Token()
	if err != nil {
		return "", err
	}
	return group(open.String(), members, end.(json.Delim).String(), indent, column), nil
}

// group lays out the members of an object or a list.
func group(open string, members []string, end string, indent, column int) string {
	line := open + strings.Join(members, ", ") + end
	if column+len(line) <= width && !strings.Contains(line, "\n") {
		return line
	}
	margin := "\n" + strings.Repeat(" ", indent)
	return open + margin + "  " + strings.Join(members, ","+margin+"  ") + margin + end
}

func scalar(token any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(token)
	return strings.TrimSuffix(out.String(), "\n"), err
}
