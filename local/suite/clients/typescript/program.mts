// What a company's program does first, with the client that openapi-typescript and openapi-fetch make.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

// must returns the data of an answer, and throws the problem if there is none.
function must<T>(answer: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const api = createClient<paths>({ baseUrl: setting("ORGOPS_URL") });

const session = must(await api.POST("/auth/login", {
  body: { email: setting("ORGOPS_EMAIL"), password: setting("ORGOPS_PASSWORD") },
}));
api.use({ onRequest: ({ request }) => request.headers.set("Authorization", `Bearer ${session.access_token}`) });
console.log(`logged in to ${session.company_id}`);
const company = { companyId: session.company_id };

const webhook: components["schemas"]["WebhookConfig"] = { url: "https://example.com/hooks", events: ["memory.created", "goal.updated"] };
const configured = must(await api.POST("/companies/{companyId}/integrations/{provider}", {
  params: { path: { ...company, provider: "webhook" } },
  body: webhook,
}));
console.log(`configured ${configured.provider}: ${configured.state}`);

const integrations = must(await api.GET("/companies/{companyId}/integrations", { params: { path: company } }));
for (const { provider, state, health } of integrations.items) {
  console.log(`listed ${provider}: ${state}, ${health.successRate24h === null ? "no attempts" : health.successRate24h.toFixed(2)}`);
}

const health = must(await api.GET("/companies/{companyId}/mission-control/health", { params: { path: company } }));
console.log(`health ${health.status}: ${health.score === null ? "no score" : health.score.toFixed(0)}, ${health.checks.length} checks`);

const dashboard = must(await api.GET("/companies/{companyId}/mission-control/dashboard", { params: { path: company } }));
let checks = 0;
let goals = 0;
for (const widget of dashboard.widgets) {
  if (widget.id === "health") checks = widget.data.checks.length;
  if (widget.id === "goals") goals = widget.data.open;
}
console.log(`dashboard: ${checks} checks, ${goals} open goals`);

const refused = await api.POST("/companies/{companyId}/integrations/{provider}", {
  params: { path: { ...company, provider: "webhook" } },
  body: { ...webhook, rateLimit: 5000 },
});
if (refused.error === undefined) throw new Error(`not refused: ${JSON.stringify(refused.data)}`);
const problem = refused.error;
console.log(`refused ${refused.response.status}: ${problem.type} ${problem.errors?.map(({ pointer }) => pointer).join(" ")}`);
