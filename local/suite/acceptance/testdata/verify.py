"""Verifies one delivery with the official library. DELIVERY is {secret, headers, body}."""

import json
import os

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

delivery = json.loads(os.environ["DELIVERY"])
hook = Webhook(delivery["secret"])
event = hook.verify(delivery["body"], delivery["headers"])
try:
    hook.verify(delivery["body"] + " ", delivery["headers"])
except WebhookVerificationError:
    print("verified", event["type"], event["id"])
