// Module deliveries lists the deliveries of an endpoint.
import { html, useMemo, useState } from '../lib/h.js';
import { may } from '../lib/api.js';
import { sentence, words } from '../lib/format.js';
import { useLive, usePages } from '../lib/live.js';
import { place } from '../lib/places.js';
import { filter, route } from '../lib/route.js';
import { Within, within } from '../ui/within.js';
import { Await, Choice, Curl, Empty, Head, Loading, More, Status, Time, Trouble } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { Next } from '../ui/waits.js';
import { Later } from '../ui/later.js';

/** Deliveries chooses an endpoint, and lists its deliveries. */
export function Deliveries() {
  const live = useLive('integrations'), chosen = route.value.query.provider;
  return html`<${Head} title="Deliveries" about="One event on its way to one endpoint, kept for 30 days." />
    <${Await} of=${live}>${({ items }) => {
      const endpoints = items.filter((i) => i.permissions.includes('event.deliver')).map((i) => i.provider);
      const provider = endpoints.includes(chosen) ? chosen : ''; // all: also the deliveries of endpoints that were deleted
      return html`<${DeliveryList} key=${provider} provider=${provider} endpoints=${endpoints} paused=${items.filter((i) => i.paused && (!provider || i.provider === provider))} changed=${live.reload} />`;
    }}<//>`;
}

const states = ['delivered', 'scheduled', 'waiting', 'held', 'failed', 'dead'];

/** DeliveryList lists the deliveries of an endpoint, or of all if provider is empty, by the filters in the place. Before them it shows
 * which of the endpoints are paused. */
export function DeliveryList({ provider, endpoints = [], paused, changed }) {
  const { state = '', event = '' } = route.value.query, since = within(), [recover, setRecover] = useState(false), target = provider || (endpoints.length === 1 && endpoints[0]);
  const query = new URLSearchParams({ limit: '50', ...(state && { state }), ...(event && { event }), ...(since && { since }) });
  const path = provider ? `integrations/${encodeURIComponent(provider)}/deliveries?${query}` : `deliveries?${query}`, page = usePages(path);
  const rows = useMemo(() => html`<${Table} label="Deliveries" rows=${page.items} fresh=${page.fresh} id=${(d) => `${d.provider} ${d.deliveryId}`} columns=${columns(provider)} />`, [page.items, provider]); // drawn again for other items alone
  return html`${paused.map((i) => html`<${Later} part="Paused" key=${i.provider} of=${i} named changed=${() => { changed(); page.reload(); }} />`)}<div class="filters">
      ${endpoints.length > 1 && html`<${Choice} label="Endpoint" value=${provider} options=${[['', 'All'], ...endpoints.map((e) => [e, e])]} onPick=${(v) => filter({ provider: v })} />`}
      <${Choice} label="State" value=${state} options=${[['', 'All'], ...states.map((s) => [s, sentence(s)])]} onPick=${(v) => filter({ state: v })} />
      <label class="choice"><span>Event</span><input value=${event} placeholder="memory.created" spellcheck=${false} onChange=${(e) => filter({ event: e.currentTarget.value.trim() })} /></label>
      <${Within} /><span class="push"></span><button type="button" class="quiet" onClick=${page.reload}>Refresh</button><${Curl} path=${path} />
      ${target && may('integrations:write') && html`<button type="button" onClick=${() => setRecover(true)}>Recover…</button>`}</div>
    <${Trouble} problem=${page.problem} retry=${page.reload} />
    ${page.items.length === 0 && page.loading && html`<${Loading} rows=${6} />`}
    ${page.items.length === 0 && !page.loading && !page.problem && html`<${None} provider=${target} none=${!provider && !endpoints.length} filtered=${state || event || since} more=${page.more} />`}
    ${page.items.length > 0 && rows}
    <${More} of=${page} />
    ${recover && html`<${Later} part="Recover" provider=${target} close=${() => { setRecover(false); page.reload(); }} />`}`;
}

const columns = (provider) => [['State', (d) => html`<${Status} of=${d.state} />`], ['Event', (d) => html`<a href=${place(['integrations', d.provider ?? provider, 'deliveries', d.deliveryId])}>${d.event}</a>`],
  ...(provider ? [] : [['Endpoint', (d) => html`<a href=${place(['integrations', d.provider])}>${d.provider}</a>`]]),
  ['Answer', (d) => d.status ?? html`<span class="muted">${d.heldBecause ? words(d.heldBecause) : d.error ?? '–'}</span>`], ['Attempts', (d) => d.attempt], ['Last', (d) => html`<${Time} at=${d.at} />`], ['Next', (d) => html`<${Next} of=${d} />`]];

const None = ({ provider, none, filtered, more }) => html`<${Empty} title=${more ? 'None match among the newest' : filtered ? 'None match' : none ? 'No endpoint receives events yet' : 'No deliveries yet'}>${filtered
  ? html`${more && 'Show more goes on with the older ones. '}<button type="button" class="small" onClick=${() => filter({ state: '', event: '', since: '', within: '' })}>Show all</button>`
  : none ? html`Connect a webhook, and every event that it subscribes to appears here. <p><a class="button primary" href="#/connect/webhook">Connect a webhook</a></p>`
    : html`The first event that ${provider || 'an endpoint'} subscribes to appears here: an item that comes in, a goal that moves, an entry of the timeline. <p><a class="button" href=${place(['integrations', ...(provider ? [provider] : [])])}>Go to ${provider || 'the integrations'}</a></p>`}<//>`;
