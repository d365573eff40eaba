// Module integrations lists the integrations.
import { html } from '../lib/h.js';
import { may } from '../lib/api.js';
import { percent, plural } from '../lib/format.js';
import { grouped, named } from '../lib/kinds.js';
import { useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { Await, Curl, Empty, Head, Status, Time, health } from '../ui/parts.js';
import { Later } from '../ui/later.js';

/** few is how many integrations of a kind are shown at once. A person opens the rest. */
const few = 12;

export function Integrations() {
  const list = useLive('integrations');
  return html`<${Head} title="Integrations" about="What is connected, and what each connector may do."><${Curl} path="integrations" /><a class="button" href="#/events">Events</a>
      ${may('integrations:write') && html`<a class="button primary" href="#/connect">Connect</a>`}<//>
    <${Await} of=${list}>${({ items }) => (items.length === 0
      ? html`<${Empty} title="Nothing is connected yet">A webhook receives your events; a source brings in memories and goals. <p><a class="button primary" href="#/connect">Connect the first one</a></p><//>`
      : items.length <= few ? html`<${Cards} items=${items} list=${list} />`
      : grouped(items).map((g) => html`<section key=${g.kind}><h2>${g.kind} <small class="muted">${plural(g.items.length, 'integration')}${tally(g.items)}</small></h2>
          <${Cards} items=${g.items.slice(0, few)} list=${list} />
          ${g.items.length > few && html`<details><summary>${plural(g.items.length - few, 'other integration')}</summary><div class="inside"><${Cards} items=${g.items.slice(few)} list=${list} /></div></details>`}</section>`))}<//>`;
}

/** tally counts what is wrong with the integrations of a kind. */
const tally = (items) => [['fail', 'failing'], ['warn', 'with a warning']].map(([status, text]) => [items.filter((i) => i.enabled && i.health.status === status).length, text])
  .concat([[items.filter((i) => !i.enabled).length, 'disabled'], [items.filter((i) => i.enabled && i.state === 'sandbox').length, 'in the sandbox']])
  .filter(([n]) => n > 0).map(([n, text]) => `, ${n} ${text}`).join('');

const Cards = ({ items, list }) => html`<ul class="plain grid two">${items.map((i) => html`<li key=${i.provider} class="card"><${Summary} of=${i} />${i.paused && html`<${Later} part="Paused" of=${i} changed=${list.reload} />`}</li>`)}</ul>`;

const Summary = ({ of }) => html`<h2><a href=${place(['integrations', of.provider])}>${of.title ?? of.provider}</a>${of.title && html` <small class="muted">${of.provider}</small>`}</h2>
  <p class="row"><${Status} of=${of.enabled ? of.state : 'disabled'} />${of.enabled && of.health.status !== 'unknown' && html`<${Status} of=${of.health.status} label=${health[of.health.status]} />`}</p>
  <p class="muted clip">${of.url ?? named(of.config) ?? ''}</p>
  <p class="muted fine">${of.permissions.includes('event.deliver') ? html`${of.health.lastSuccessAt ? html`Last success <${Time} at=${of.health.lastSuccessAt} />` : 'No success yet'}${of.health.successRate24h !== null && of.health.successRate24h !== undefined && html` · ${percent(of.health.successRate24h)} delivered in 24 hours`}`
    : of.health.lastItemAt ? html`Last item <${Time} at=${of.health.lastItemAt} />` : 'No item yet'}</p>`;
