// Command orgops-clients is what a company's program does first, with the client that oapi-codegen makes.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"orgops-clients/orgops"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	api, err := orgops.NewClientWithResponses(os.Getenv("ORGOPS_URL"))
	if err != nil {
		return err
	}
	login, err := api.LoginWithResponse(ctx, orgops.LoginRequest{Email: os.Getenv("ORGOPS_EMAIL"), Password: os.Getenv("ORGOPS_PASSWORD")})
	if err != nil {
		return err
	}
	if login.JSON200 == nil {
		return fmt.Errorf("log in: %s: %s", login.Status(), login.Body)
	}
	company := login.JSON200.CompanyId
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+login.JSON200.AccessToken)
		return nil
	}
	fmt.Printf("logged in to %v\n", company)

	webhook := orgops.WebhookConfig{
		Url: "https://example.com/hooks", Events: []orgops.EventPattern{orgops.EventPatternMemoryCreated, orgops.EventPatternGoalUpdated},
	}
	var config orgops.IntegrationConfig
	if err := config.FromWebhookConfig(webhook); err != nil {
		return err
	}
	configured, err := api.ConfigureIntegrationWithResponse(ctx, company, "webhook", nil, config, authorize)
	if err != nil {
		return err
	}
	if configured.JSON201 == nil {
		return fmt.Errorf("configure: %s: %s", configured.Status(), configured.Body)
	}
	fmt.Printf("configured %s: %s\n", configured.JSON201.Provider, configured.JSON201.State)

	integrations, err := api.ListIntegrationsWithResponse(ctx, company, authorize)
	if err != nil {
		return err
	}
	if integrations.JSON200 == nil {
		return fmt.Errorf("list: %s: %s", integrations.Status(), integrations.Body)
	}
	for _, i := range integrations.JSON200.Items {
		rate := "no attempts"
		if r := i.Health.SuccessRate24h; r != nil {
			rate = fmt.Sprintf("%.2f", *r)
		}
		fmt.Printf("listed %s: %s, %s\n", i.Provider, i.State, rate)
	}

	health, err := api.GetHealthWithResponse(ctx, company, nil, authorize)
	if err != nil {
		return err
	}
	if health.JSON200 == nil {
		return fmt.Errorf("health: %s: %s", health.Status(), health.Body)
	}
	score := "no score"
	if s := health.JSON200.Score; s != nil {
		score = fmt.Sprintf("%.0f", *s)
	}
	fmt.Printf("health %s: %s, %d checks\n", health.JSON200.Status, score, len(health.JSON200.Checks))

	dashboard, err := api.GetDashboardWithResponse(ctx, company, nil, authorize)
	if err != nil {
		return err
	}
	if dashboard.JSON200 == nil {
		return fmt.Errorf("dashboard: %s: %s", dashboard.Status(), dashboard.Body)
	}
	checks, goals := 0, 0
	for _, w := range dashboard.JSON200.Widgets {
		one, err := w.ValueByDiscriminator()
		if err != nil {
			return err
		}
		switch one := one.(type) {
		case orgops.HealthWidget:
			checks = len(one.Data.Checks)
		case orgops.GoalsWidget:
			goals = int(one.Data.Open)
		}
	}
	fmt.Printf("dashboard: %d checks, %d open goals\n", checks, goals)

	rate := 5000
	webhook.RateLimit = &rate
	if err := config.FromWebhookConfig(webhook); err != nil {
		return err
	}
	refused, err := api.ConfigureIntegrationWithResponse(ctx, company, "webhook", nil, config, authorize)
	if err != nil {
		return err
	}
	problem := refused.ApplicationproblemJSON422
	if problem == nil || problem.Errors == nil {
		return fmt.Errorf("not refused: %s: %s", refused.Status(), refused.Body)
	}
	fmt.Printf("refused %d: %s", refused.StatusCode(), problem.Type)
	for _, e := range *problem.Errors {
		fmt.Printf(" %s", e.Pointer)
	}
	fmt.Println()
	return nil
}
