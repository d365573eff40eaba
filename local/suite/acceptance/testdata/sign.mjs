// Signs one arrival with the official library. ARRIVAL is {secret, id, body}. It prints the headers.
import { Webhook } from "standardwebhooks";

const { secret, id, body } = JSON.parse(process.env.ARRIVAL), now = new Date();
console.log(JSON.stringify({
  "Webhook-Id": id, "Webhook-Timestamp": String(Math.floor(now.getTime() / 1000)), "Webhook-Signature": new Webhook(secret).sign(id, now, body),
}));
