// Module delivery shows one delivery: its attempts as a line in time, its payload, and what an update changed.
import { html } from '../lib/h.js';
import { call, may, now } from '../lib/api.js';
import { differences, plural, words } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { Table } from '../ui/table.js';
import { Next } from '../ui/waits.js';
import { Action, Await, Copy, Curl, Head, Json, Status, Time } from '../ui/parts.js';

export function Delivery({ provider, id }) {
  const path = `integrations/${encodeURIComponent(provider)}/deliveries/${encodeURIComponent(id)}`, live = useLive(path);
  const retry = async () => { await call('POST', `${path}/retry`); live.reload(); return 'An attempt is due now.'; };
  return html`<${Head} title=${live.data?.event ?? 'Delivery'} up=${{ href: place(['integrations', provider, 'deliveries']), text: `Deliveries of ${provider}` }}><${Curl} path=${path} />
      ${may('integrations:write') && live.data && html`<${Action} primary label="Retry now" run=${retry} />`}<//>
    <${Await} of=${live}>${(d) => html`<section class="card"><dl class="facts">
        <div><dt>State</dt><dd><${Status} of=${d.state} />${d.heldBecause && html` <${Held} because=${d.heldBecause} provider=${provider} />`}</dd></div>
        <div><dt>Event</dt><dd><code>${d.eventId}</code> <${Copy} quiet text=${d.eventId} /></dd></div>
        ${d.line && html`<div><dt>Line</dt><dd><${Turn} of=${d.line} provider=${provider} /></dd></div>`}
        ${(d.nextAttemptAt || d.waitingFor) && html`<div><dt>Next attempt</dt><dd><${Next} of=${d} />${['failing', 'retry-after'].includes(d.waitingFor) && html` <a href=${place(['integrations', provider])}>See the pause</a>`}</dd></div>`}
        ${d.error && html`<div><dt>Error</dt><dd>${d.error}</dd></div>`}</dl></section>
      <h2>Attempts</h2><${Line} of=${d} />
      <${Changed} data=${d.payload?.data} />
      <div class="grid two"><section><h2>Request body</h2>${d.payload ? html`<${Json} value=${d.payload} label="Request body" />` : html`<p class="muted">The payload is no longer kept.</p>`}</section>
        <section><h2>Last response</h2><p>${d.status ? html`HTTP ${d.status}` : html`<span class="muted">No answer</span>`}${d.latencyMs !== undefined && html` · ${d.latencyMs} ms`}</p>${d.responseExcerpt ? html`<${Json} value=${d.responseExcerpt} label="Response" />` : html`<p class="muted">The body was empty.</p>`}</section></div>`}<//>`;
}

const held = {
  sandbox: ['The endpoint is in the sandbox.', 'certification', 'Certify it'], disabled: ['The endpoint is disabled.', 'settings', 'Enable it'],
  deleted: ['The endpoint was removed.'], suspended: ['The company is suspended. The delivery goes out when it is resumed.'],
};

/** Held says why a delivery is held, and leads to what releases it. */
function Held({ because, provider }) {
  const [why, tab, label] = held[because] ?? [`Held because of: ${words(because)}.`];
  return html`<span class="muted">${why}</span>${tab && html` <a href=${place(['integrations', provider, tab])}>${label}</a>, then recover the delivery.`}`;
}

/** Turn tells the place of a delivery among those about the same record. Attempts are made for the head alone. */
const Turn = ({ of, provider }) => (of.ahead === 0 ? 'The first: attempts are made for it.'
  : html`Waits behind ${plural(of.ahead, 'delivery', 'deliveries')}: <a href=${place(['integrations', provider, 'deliveries', of.head])}>open the first</a>`);

const Line = ({ of }) => html`<ol class="plain line attempts">${of.attempts.length === 0 && html`<li><span class="when muted">–</span><div>No attempt yet</div></li>`}
  ${of.attempts.map((a) => html`<li key=${a.attempt}><span class="when muted"><${Time} at=${a.at} /></span><div><span class="row"><strong>Attempt ${a.attempt}</strong><${Status} of=${a.state} />${a.status && html`<code>HTTP ${a.status}</code>`}${a.latencyMs !== undefined && html`<span class="muted">${a.latencyMs} ms</span>`}</span>
    ${a.error && html`<p class="muted">${a.error}</p>`}</div></li>`)}
  ${of.nextAttemptAt && html`<li class="due"><span class="when muted"><${Time} at=${of.nextAttemptAt} /></span><div>Attempt ${of.attempt + 1} is ${Date.parse(of.nextAttemptAt) < now() - 5000 ? 'overdue' : 'due'}</div></li>`}</ol>`;

function Changed({ data }) {
  const changes = differences(data);
  if (!changes.length) return null;
  const text = (v) => (v === undefined || v === null ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v));
  return html`<h2>What the update changed</h2><${Table} label="Changes" rows=${changes} id=${(c) => c.field} columns=${[['Field', (c) => html`<code>${c.field}</code>`], ['Before', (c) => html`<del>${text(c.before)}</del>`], ['After', (c) => html`<ins>${text(c.after)}</ins>`]]} />`;
}
