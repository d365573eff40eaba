"""What a company's program does first, with the client that openapi-python-client makes."""

import os
from typing import TypeVar

from client import AuthenticatedClient, Client
from client.api.auth import login
from client.api.integrations import configure_integration, list_integrations
from client.api.mission_control import get_dashboard, get_health
from client.models import (
    Configured,
    Dashboard,
    EventPattern,
    GoalsWidget,
    HealthScore,
    HealthWidget,
    IntegrationList,
    LoginRequest,
    Problem,
    Session,
    WebhookEndpoint,
)

T = TypeVar("T")


def must(wanted: type[T], answer: object) -> T:
    """Return an answer of the wanted type, and raise the problem if it is one."""
    if not isinstance(answer, wanted):
        raise SystemExit(f"want {wanted.__name__}: {answer}")
    return answer


url = os.environ["ORGOPS_URL"]
credentials = LoginRequest(email=os.environ["ORGOPS_EMAIL"], password=os.environ["ORGOPS_PASSWORD"])
session = must(Session, login.sync(client=Client(url), body=credentials))
company = session.company_id
print(f"logged in to {company}")

with AuthenticatedClient(url, token=session.access_token) as api:
    webhook = WebhookEndpoint(url="https://example.com/hooks", events=[EventPattern.MEMORY_CREATED, EventPattern.GOAL_UPDATED])
    configured = must(Configured, configure_integration.sync(company, "webhook", client=api, body=webhook))
    print(f"configured {configured.provider}: {configured.state}")

    for i in must(IntegrationList, list_integrations.sync(company, client=api)).items:
        rate = i.health.success_rate_24_h
        print(f"listed {i.provider}: {i.state}, {'no attempts' if rate is None else f'{rate:.2f}'}")

    health = must(HealthScore, get_health.sync(company, client=api))
    score = "no score" if health.score is None else f"{health.score:.0f}"
    print(f"health {health.status}: {score}, {len(health.checks)} checks")

    widgets = must(Dashboard, get_dashboard.sync(company, client=api)).widgets
    checks = sum(len(w.data.checks) for w in widgets if isinstance(w, HealthWidget))
    goals = sum(w.data.open_ for w in widgets if isinstance(w, GoalsWidget))
    print(f"dashboard: {checks} checks, {goals} open goals")

    webhook.rate_limit = 5000
    refused = configure_integration.sync_detailed(company, "webhook", client=api, body=webhook)
    problem = must(Problem, refused.parsed)
    print(f"refused {refused.status_code}: {problem.type_}", *(e.pointer for e in problem.errors or []))
