package blackbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/cloud"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/programtest"
	"orgops/shared/testkit/slacktest"
)

// concurrency is the variable that limits how many invocations the emulated account runs at once. 10 is the limit of many new
// accounts.
const concurrency = "LAMBDA_LIMITS_CONCURRENT_EXECUTIONS"

// startDeployed deploys the stack of the CDK app into an emulated AWS on this machine. If ORGOPS_URL is set, it uses the
// deployment there instead.
func startDeployed(t *testing.T) *target {
	if url := os.Getenv("ORGOPS_URL"); url != "" {
		return runningAt(t, url)
	}
	log := &logtest.Log{}
	fake, app := slacktest.New(t), slacktest.App()
	secret, err := json.Marshal(object{"clientId": app.ClientID, "clientSecret": app.ClientSecret, "signingSecret": app.SigningSecret})
	errtest.Must(t, err)
	stack, err := cloud.Start(t.Context(), cloud.Options{Log: log, Slack: &cloud.Slack{URL: fake.URL, Secret: string(secret)}})
	if err != nil {
		t.Fatalf("deploy: %v\n%s", err, log.String())
	}
	t.Logf("%s", log.String())
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Errorf("remove the stack: %v", err)
		}
	})
	program := programtest.Orgops(t)
	env := append(append(os.Environ(), stack.Environment()...), "ORGOPS_BACKEND=aws", "ORGOPS_TABLE="+stack.Outputs["TableName"])
	d := &deployed{Stack: stack, env: env}
	t.Cleanup(func() { d.checkRefusals(t); d.checkDrops(t) })
	d.target = &target{
		url: stack.URL, program: program, log: func() string { return functionLogs(stack.LogFolder()) }, every: 200 * time.Millisecond,
		createCompany: func(ctx context.Context, name, email, password string) (string, error) {
			made, err := stack.CreateCompany(ctx, name, email, password)
			return made.CompanyID, err
		},
		addMember: func(ctx context.Context, company, email, password string) error {
			_, err := adminCommand(ctx, program, env, password, "user", "add", "--company", company, "--email", email, "--role", "member")
			return err
		},
		setPlan: stack.SetPlan, throttled: os.Getenv(concurrency) != "",
		checks: []check{{"rights", d.checkRights}, {"expiry", d.checkExpiry}, {"people and machines are told", d.checkTold(fake)}}, deployed: d,
	}
	return d.target
}

// checkTold returns the check that lets people and machines be told. The stack sends no mails.
func (d *deployed) checkTold(fake *slacktest.Slack) func(*testing.T, *world) {
	return func(t *testing.T, _ *world) {
		t.Parallel()
		tell(t, d.target, fake, nil)
	}
}

// functionLogs returns the end of the log of every function, each under its name.
func functionLogs(folder string) string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(folder, "*", "*.log")) // the pattern is valid
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&all, "%s: %s\n", filepath.Base(filepath.Dir(file)), tail(string(text)))
	}
	return all.String()
}

// runningAt returns a deployment that the suite did not start. The command in ORGOPS_ADMIN creates companies and members.
func runningAt(t *testing.T, url string) *target {
	command := os.Getenv("ORGOPS_ADMIN")
	if command == "" {
		t.Fatal("ORGOPS_URL needs ORGOPS_ADMIN: a command for bash that creates the company NAME with the founder EMAIL and PASSWORD, or adds " +
			"that user as a member to COMPANY where it is set, or moves COMPANY to the plan PLAN where that is set, and prints {\"companyId\": …}")
	}
	admin := func(ctx context.Context, settings ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "bash", "-c", command)
		cmd.Env, cmd.Stderr = append(os.Environ(), settings...), os.Stderr
		printed, err := cmd.Output()
		if err != nil {
			return "", err
		}
		var made struct{ CompanyID string }
		err = json.Unmarshal(printed, &made)
		return made.CompanyID, err
	}
	return &target{
		url: strings.TrimSuffix(url, "/"), program: programtest.Orgops(t), every: 200 * time.Millisecond,
		log: func() string { return "its log is where it runs" },
		createCompany: func(ctx context.Context, name, email, password string) (string, error) {
			return admin(ctx, "NAME="+name, "EMAIL="+email, "PASSWORD="+password, "COMPANY=", "PLAN=")
		},
		addMember: func(ctx context.Context, company, email, password string) error {
			_, err := admin(ctx, "COMPANY="+company, "EMAIL="+email, "PASSWORD="+password, "PLAN=")
			return err
		},
		setPlan: func(ctx context.Context, company, plan string) error {
			_, err := admin(ctx, "COMPANY="+company, "PLAN="+plan)
			return err
		},
	}
}
