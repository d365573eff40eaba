// Module receiving shows where an integration receives webhooks, and a command that sends one.
import { html } from '../lib/h.js';
import { root, session } from '../lib/api.js';
import { quote } from '../lib/format.js';
import { Copy } from '../ui/parts.js';

const where = {
  github: 'At GitHub, open the settings of the repository, then Webhooks, and add one: this payload URL, the content type application/json, and the webhook secret that is stored here.',
  linear: 'At Linear, open Settings, API, and add a webhook with this URL. Store its signing secret in the settings of this integration.',
  webhook: 'Post items to this address, signed according to Standard Webhooks with the signing secret of this endpoint.',
};

const issue = (repository) => JSON.stringify({
  action: 'opened', repository: { full_name: repository },
  issue: { number: 7, title: 'Printer on fire', body: 'It burns.', html_url: `https://github.com/${repository}/issues/7`, state: 'open' },
});

/** samples make commands that send a signed webhook. SECRET stands for the secret, which the page does not know. */
const samples = {
  github: (url, config) => ['what GitHub sends when an issue is opened', `BODY=${quote(issue(config.repository ?? config.repositories?.[0] ?? `${config.organization}/app`))}
SIGNATURE="sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* //')"
curl -sS ${quote(url)} -H 'Content-Type: application/json' -H 'X-GitHub-Event: issues' \\
  -H "X-GitHub-Delivery: $(openssl rand -hex 16)" -H "X-Hub-Signature-256: $SIGNATURE" -d "$BODY"`],
  webhook: (url) => ['an item', `BODY='{"type":"memory.upsert","data":{"externalId":"42","kind":"ticket","title":"Printer on fire"}}'
ID="msg_$(openssl rand -hex 8)" NOW=$(date +%s)
KEY=$(printf %s "\${SECRET#whsec_}" | openssl base64 -d -A | od -An -tx1 | tr -d ' \\n')
SIGNATURE=$(printf %s "$ID.$NOW.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)
curl -sS ${quote(url)} -H 'Content-Type: application/json' \\
  -H "webhook-id: $ID" -H "webhook-timestamp: $NOW" -H "webhook-signature: v1,$SIGNATURE" -d "$BODY"`],
};

/** Receiving shows the address of an integration, and the command for those connectors that have one. */
export function Receiving({ of }) {
  const url = new URL(`inbound/${session.value.company}/${encodeURIComponent(of.provider)}`, root).href;
  const [what, command] = samples[of.kind]?.(url, of.config ?? {}) ?? [], line = `SECRET='the secret'\n${command}`;
  return html`<section class="card"><h2>Receive webhooks</h2><p>${where[of.kind] ?? 'Requests to this address become actions, according to the mapping.'}</p>
    <p class="row"><code class="block">${url}</code><${Copy} text=${url} label="Copy the address" /></p>
    ${command && html`<details><summary>Send one from a terminal</summary><div class="stack inside"><p>This sends ${what}. Put the secret into the first line.</p>
      <pre tabindex="0" role="region" aria-label="Command">${line}</pre><p><${Copy} text=${line} label="Copy the command" /></p></div></details>`}</section>`;
}
