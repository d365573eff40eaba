// Module access lists what third parties may do because a person allowed it, and ends it.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm } from '../ui/dialog.js';
import { Await, Empty, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { usePeople } from './listing.js';

const path = 'operations/grants';

/** Access lists the grants of the company. */
export function Access() {
  const live = useLive(path), named = usePeople(), [ask, setAsk] = useState(null);
  const columns = [
    ['Third party', (g) => html`<strong>${g.clientHost}</strong><br /><small class="muted">calls itself “${g.clientName}”</small>`],
    ['Allowed by', (g) => named(g.userId) ?? html`<code>${g.userId}</code>`],
    ['Acts', (g) => (g.executiveId ? html`as <a href="#/operations/executives/${g.executiveId}">an executive</a>` : g.scopes.map((s) => html`<code key=${s}>${s}</code> `))],
    ['Opens', (g) => (g.endpoint === 'mcp' ? 'the MCP endpoint' : 'the API')],
    ['Last used', (g) => html`<${Time} at=${g.lastUsedAt} />`], ['Ends', (g) => html`<${Time} at=${g.expiresAt} />`],
    ['Change', (g) => html`<button type="button" class="quiet" onClick=${() => setAsk(g)}>End access…</button>`],
  ];
  const end = async () => { await call('DELETE', `${path}/${encodeURIComponent(ask.id)}`); forget(path); live.reload(); };
  return html`<${Await} of=${live}>${({ items }) => html`${items.length === 0 ? html`<${Empty} title="No third party has access">A program outside of this service, such as an agent, gets access when a person of the company allows it.<//>` : html`<${Table} label="Access of third parties" rows=${items} columns=${columns} />`}
    ${ask && html`<${Confirm} title="End the access of ${ask.clientHost}" label="End access" close=${() => setAsk(null)} run=${end} consequences=${['Its tokens end within seconds.', 'It has to ask a person again.']} />`}`}<//>`;
}
