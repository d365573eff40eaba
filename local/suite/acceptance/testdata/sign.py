"""Signs one arrival with the official library. ARRIVAL is {secret, id, body}. It prints the headers."""

import json
import os
from datetime import datetime, timezone

from standardwebhooks.webhooks import Webhook

arrival = json.loads(os.environ["ARRIVAL"])
now = datetime.now(timezone.utc)
print(json.dumps({
    "Webhook-Id": arrival["id"],
    "Webhook-Timestamp": str(int(now.timestamp())),
    "Webhook-Signature": Webhook(arrival["secret"]).sign(arrival["id"], now, arrival["body"]),
}))
