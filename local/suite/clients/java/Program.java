import java.net.URI;
import orgops.client.ApiClient;
import orgops.client.ApiException;
import orgops.client.JSON;
import orgops.client.api.AuthApi;
import orgops.client.api.IntegrationsApi;
import orgops.client.api.IntegrationsApi.APIConfigureIntegrationRequest;
import orgops.client.api.MissionControlApi;
import orgops.client.api.MissionControlApi.APIGetDashboardRequest;
import orgops.client.api.MissionControlApi.APIGetHealthRequest;
import orgops.client.model.EventPattern;
import orgops.client.model.FieldError;
import orgops.client.model.GoalsWidget;
import orgops.client.model.HealthWidget;
import orgops.client.model.IntegrationConfig;
import orgops.client.model.LoginRequest;
import orgops.client.model.Problem;
import orgops.client.model.WebhookConfig;

/** What a company's program does first, with the client that openapi-generator makes. */
final class Program {
  public static void main(String[] args) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("ORGOPS_URL"));

    var login = new LoginRequest().email(System.getenv("ORGOPS_EMAIL")).password(System.getenv("ORGOPS_PASSWORD"));
    var session = new AuthApi(client).login(login);
    var company = session.getCompanyId();
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + session.getAccessToken()));
    System.out.printf("logged in to %s%n", company);

    var integrations = new IntegrationsApi(client);
    var webhook = new WebhookConfig()
        .url(URI.create("https://example.com/hooks"))
        .addEventsItem(EventPattern.MEMORY_CREATED)
        .addEventsItem(EventPattern.GOAL_UPDATED);
    var configure = APIConfigureIntegrationRequest.newBuilder().companyId(company).provider("webhook");
    var configured = integrations.configureIntegration(configure.integrationConfig(new IntegrationConfig(webhook)).build());
    System.out.printf("configured %s: %s%n", configured.getProvider(), configured.getState());

    for (var i : integrations.listIntegrations(company).getItems()) {
      var rate = i.getHealth().getSuccessRate24h();
      System.out.printf("listed %s: %s, %s%n", i.getProvider(), i.getState(), rate == null ? "no attempts" : "%.2f".formatted(rate));
    }

    var health = new MissionControlApi(client).getHealth(APIGetHealthRequest.newBuilder().companyId(company).build());
    var score = health.getScore() == null ? "no score" : "%.0f".formatted(health.getScore());
    System.out.printf("health %s: %s, %d checks%n", health.getStatus(), score, health.getChecks().size());

    var checks = 0;
    var goals = 0;
    for (var widget : new MissionControlApi(client).getDashboard(APIGetDashboardRequest.newBuilder().companyId(company).build()).getWidgets()) {
      if (widget.getActualInstance() instanceof HealthWidget tile) {
        checks = tile.getData().getChecks().size();
      } else if (widget.getActualInstance() instanceof GoalsWidget tile) {
        goals = tile.getData().getOpen();
      }
    }
    System.out.printf("dashboard: %d checks, %d open goals%n", checks, goals);

    try {
      integrations.configureIntegration(configure.integrationConfig(new IntegrationConfig(webhook.rateLimit(5000))).build());
      throw new IllegalStateException("not refused");
    } catch (ApiException e) {
      var problem = JSON.getDefault().getMapper().readValue(e.getResponseBody(), Problem.class);
      var pointers = problem.getErrors().stream().map(FieldError::getPointer).toList();
      System.out.printf("refused %d: %s %s%n", e.getCode(), problem.getType(), String.join(" ", pointers));
    }
  }
}
