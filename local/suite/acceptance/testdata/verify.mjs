// Verifies one delivery with the official library. DELIVERY is {secret, headers, body}.
import { Webhook } from "standardwebhooks";

const { secret, headers, body } = JSON.parse(process.env.DELIVERY);
const event = new Webhook(secret).verify(body, headers);
try {
  new Webhook(secret).verify(body + " ", headers);
} catch {
  console.log("verified", event.type, event.id);
}
