// Module secret shows a signing secret once, with the command that receives deliveries on this machine.
import { html } from '../lib/h.js';
import { place } from '../lib/places.js';
import { quote } from '../lib/format.js';
import { Copy } from '../ui/parts.js';

/** listenLine returns the command that receives and verifies deliveries at a local address, or null for another address. */
export function listenLine(url, secret) {
  try {
    const { hostname, port, protocol } = new URL(url);
    if (protocol !== 'http:' || !['127.0.0.1', 'localhost', '[::1]'].includes(hostname)) return null;
    return `bin/orgops listen --addr ${hostname}:${port || 80} --secret ${quote(secret)}`;
  } catch {
    return null;
  }
}

/** SecretShown shows the secret. The service never shows it again. */
export function SecretShown({ secret, provider, url, next }) {
  const line = listenLine(url, secret);
  return html`<section class="card narrow secret"><h2>Keep the signing secret now</h2>
    <p>It is shown this once. Your endpoint verifies every delivery with it.</p>
    <p class="row"><code class="block">${secret}</code><${Copy} text=${secret} label="Copy the secret" /></p>
    ${line && html`<p>No endpoint yet? This command receives deliveries on this machine, and says whether each signature verifies:</p>
      <p class="row"><code class="block">${line}</code><${Copy} text=${line} label="Copy the command" /></p>`}
    ${next && html`<p><a class="button primary" href=${place(['integrations', provider, 'certification'])}>I kept it: certify the endpoint</a></p>`}</section>`;
}
