package admin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/awsclient"
	"orgops/shared/base/text"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/vault/kmsvault"
)

// createTimeout bounds the whole command: a real table takes about 10 s.
const createTimeout = 2 * time.Minute

const prefixes text.Pattern = `^[a-z0-9][a-z0-9-]{0,39}$`

// createAWS creates the resources that ORGOPS_BACKEND=aws needs, and prints the settings that name them. The resources are
// like those of the deployment's template, but lack its protection of real data: backups, a customer's key and deletion
// protection. createAWS keeps resources that exist.
func createAWS(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	prefix := flags.String("prefix", "dev", "prefix of every resource's name")
	really := flags.Bool("real", false, "create the resources in a real AWS account; prefer the CDK app there, because these tables have no backups")
	if err := parse(flags, args); err != nil {
		return err
	}
	if !prefixes.Matches(*prefix) {
		return errors.New("--prefix: use up to 40 lower-case letters, digits and hyphens, starting with a letter or digit")
	}
	access, err := awsclient.Read(e.Getenv)
	if err != nil {
		return err
	}
	if real := atAWS(access); len(real) > 0 && !*really {
		return fmt.Errorf("calls of %s would go to AWS itself, where `make deploy` creates the resources; set AWS_ENDPOINT_URL, or "+
			"AWS_ENDPOINT_URL_<SERVICE>, to an emulator, or pass --real", strings.Join(real, ", "))
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	made, err := makeParts(ctx, access, *prefix+"-orgops")
	if err != nil {
		return err
	}
	return made.print(e.Out, networks(e, access))
}

// services lists the services that the process calls, as their endpoint variables name them.
func services() []string { return []string{"DYNAMODB", "SQS", "KMS", "SECRETS_MANAGER"} }

func atAWS(access awsclient.Access) []string {
	return slices.DeleteFunc(services(), func(name string) bool { return !access.AtAWS(name) })
}

// parts holds settings and their values, in the order of creation.
type parts [][2]string

func (p *parts) add(name, value string) { *p = append(*p, [2]string{name, value}) }

func makeParts(ctx context.Context, access awsclient.Access, name string) (parts, error) {
	made := parts{{"ORGOPS_BACKEND", "aws"}}
	if err := dynamostore.Create(ctx, access, name, dynamostore.Shape{Stream: true, TTL: true}); err != nil {
		return nil, err
	}
	made.add("ORGOPS_TABLE", name)
	if err := dynamostore.Create(ctx, access, name+"-keys", dynamostore.Shape{TTL: true}); err != nil {
		return nil, err
	}
	made.add("ORGOPS_KEYS_TABLE", name+"-keys")
	for _, queue := range []string{"retries", "syncs", "notices"} {
		url, dead, err := sqsqueue.CreatePair(ctx, access, name+"-"+queue)
		if err != nil {
			return nil, err
		}
		made.add("ORGOPS_"+strings.ToUpper(queue)+"_QUEUE", url)
		made.add("ORGOPS_"+strings.ToUpper(queue)+"_DEAD_LETTERS", dead)
	}
	key, err := kmsvault.Create(ctx, access, "alias/"+name)
	if err != nil {
		return nil, err
	}
	made.add("ORGOPS_WRAPPING_KEY", key)
	signing, published, err := tokensecret.Create(ctx, access, name)
	if err != nil {
		return nil, err
	}
	made.add("ORGOPS_SIGNING_KEYS", signing)
	made.add("ORGOPS_TOKEN_KEYS", published)
	return made, nil
}

// networks returns the private networks that deliveries may reach. It adds this machine's own networks if every service that
// the process calls is an emulator on this machine.
func networks(e Env, access awsclient.Access) []netip.Prefix {
	all := slices.Clone(e.Config.AllowNetworks)
	for _, name := range services() {
		if !access.OnLoopback(name) {
			return all
		}
	}
	for _, own := range []string{"127.0.0.0/8", "::1/128"} {
		if prefix := netip.MustParsePrefix(own); !slices.Contains(all, prefix) {
			all = append(all, prefix)
		}
	}
	return all
}

// print writes the settings as shell commands.
func (p parts) print(out io.Writer, allowed []netip.Prefix) error {
	var b strings.Builder
	for _, part := range p {
		fmt.Fprintf(&b, "export %s=%s\n", part[0], quote(part[1]))
	}
	if len(allowed) > 0 {
		texts := make([]string, len(allowed))
		for i, prefix := range allowed {
			texts[i] = prefix.String()
		}
		fmt.Fprintf(&b, "export ORGOPS_ALLOW_NETWORKS=%s\n", quote(strings.Join(texts, ",")))
	}
	b.WriteString("# Paste these lines into a shell that has the same AWS_ variables as this one. No company exists yet:\n" +
		"# create one with `admin company create` (see --help).\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// quote quotes s as one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
