// Module events shows the catalogue of events, and edits and tries the filter of an endpoint.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { number, plural } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Choice, Curl, Head, Json, Status, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';

/** Events lists the events to which an endpoint can subscribe, or shows one. */
export const Events = ({ name }) => (name ? html`<${Event} key=${name} name=${name} />` : html`<${Catalogue} />`);

/** byCategory puts events into groups, in their order. */
const byCategory = (items) => [...new Set(items.map((e) => e.category))].map((c) => [c, items.filter((e) => e.category === c)]);

function Catalogue() {
  const live = useLive('event-types', { poll: false });
  return html`<${Head} title="Events" up=${{ href: '#/integrations', text: 'Integrations' }} about="What an endpoint can subscribe to, by name or by category."><${Curl} path="event-types" /><//>
    <${Await} of=${live}>${({ items }) => byCategory(items).map(([category, events]) => html`<section key=${category} class="card"><h2><code>${category}.*</code></h2>
      <dl class="facts">${events.map((e) => html`<div key=${e.name}><dt><a href=${place(['events', e.name])}>${e.name}</a></dt><dd>${e.description}</dd></div>`)}</dl></section>`)}<//>`;
}

function Event({ name }) {
  const [version, setVersion] = useState(''), path = `event-types/${encodeURIComponent(name)}${version && `?version=${version}`}`, live = useLive(path, { poll: false });
  return html`<${Head} title=${name} up=${{ href: '#/events', text: 'Events' }} about=${live.data?.description}><${Curl} path=${path} /><//>
    <${Await} of=${live}>${(e) => html`<section class="card"><dl class="facts"><div><dt>Category</dt><dd><code>${e.category}.*</code></dd></div><div><dt>Version</dt><dd>${e.version}${e.versions.filter((v) => v.version === e.version && v.endsAt).map((v) => html` <span class="muted">sent until <${Time} at=${v.endsAt} /></span>`)}</dd></div></dl>
      ${e.versions.length > 1 && html`<${Choice} label="Show version" value=${String(e.version)} options=${e.versions.map((v) => [String(v.version), String(v.version)])} onPick=${setVersion} />`}</section>
      <div class="grid two"><section class="card"><h2>Example</h2><${Json} value=${e.example} label="Example" /></section><section class="card"><h2>JSON Schema</h2><${Json} value=${e.schema} label="JSON Schema" /></section></div>`}<//>`;
}

const view = ({ config }) => ({ Filter: config.filter ?? '', Transformation: config.transform ?? '' });
const links = (pointer) => ({ '/filter': ['filter', 'Filter'], '/transform': ['transform', 'Transformation'] })[pointer];

/** Filter edits which events an endpoint gets, and with which body. */
export function Filter({ of, etag, path, changed }) {
  const guard = useGuard({ path, data: of, etag, view, took: changed });
  return html`<${Editor} key=${guard.turn} guard=${guard} path=${path} changed=${changed} />${guard.dialog}${of.selected && html`<${Counts} of=${of.selected} />`}`;
}

function Editor({ guard, path, changed }) {
  const { filter: storedFilter = '', transform: storedTransform = '', ...rest } = guard.data.config;
  const [filter, setFilter] = useState(storedFilter), [transform, setTransform] = useState(storedTransform), [tried, setTried] = useState(null);
  const typed = { filter: filter.trim(), transform: transform.trim() }, kept = Object.fromEntries(Object.entries(typed).filter(([, v]) => v));
  const attempt = async () => { setTried(null); setTried((await call('POST', `${path}/filter/preview`, { body: typed })).body); };
  const store = () => guard.write({ Filter: typed.filter, Transformation: typed.transform }, (tag) => call('POST', path, { body: { ...rest, ...kept }, headers: ifMatch(tag) }), () => { changed(); return 'Stored.'; });
  const field = (id, label, about, value, set) => html`<div class="field"><label for=${id}>${label} <small class="muted">optional</small></label><textarea id=${id} class="code" rows="3" maxlength="2048" spellcheck=${false} autocapitalize="off" aria-describedby=${`${id}-about`} value=${value} onInput=${(e) => set(e.currentTarget.value)}></textarea><small class="muted" id=${`${id}-about`}>${about}</small></div>`;
  return html`<div class="grid two"><section class="card"><h2>Filter</h2>
      ${field('filter', 'Filter', html`True for the events to send, such as <code>.data.priority == "P1"</code>. It reads .type, .timestamp, .data and .previous. See <a href="#/events">the events</a>.`, filter, setFilter)}
      ${field('transform', 'Transformation', html`Gives the body to send instead of the event, such as <code>{'{text: .data.title}'}</code>. A change returns the endpoint to the sandbox.`, transform, setTransform)}
      <p class="row"><${Action} label="Try on recent events" run=${attempt} links=${links} /><${Action} primary label="Store" run=${store} links=${links} /></p></section>
    <section class="card"><h2>Tried</h2>${tried ? html`<${Tried} of=${tried} />` : html`<p class="muted">Try it to see what it makes of the latest events. Nothing is stored or sent.</p>`}</section></div>`;
}

const marks = { matched: 'pass', filtered: 'unknown', failed: 'fail' };

/** Tried shows what a filter and a transformation make of events. */
const Tried = ({ of }) => html`<div role="status"><p>${number(of.matched)} sent, ${number(of.filtered)} left out, ${number(of.failed)} held because it fails.</p>
  <ol class="plain checks">${of.items.map((e) => html`<li key=${e.eventId}><span class="row"><${Status} of=${marks[e.verdict]} label=${{ matched: 'sent', filtered: 'left out', failed: 'held' }[e.verdict]} /><strong>${e.event}</strong><span class="muted">${e.example ? 'an example' : html`<${Time} at=${e.timestamp} />`} · ${plural(e.steps, 'step')}</span></span>
    ${e.error && html`<span class="reason wrong">${e.error}</span>`}${e.body !== undefined && html`<details><summary>What is sent</summary><${Json} value=${e.body} label="What is sent of ${e.event}" /></details>`}</li>`)}</ol></div>`;

/** Counts shows what the filter made of events, by day. */
const Counts = ({ of }) => html`<section><h2>By day</h2>${of.length === 0 ? html`<p class="muted">No event came yet.</p>` : html`<${Table} label="What the filter made of events" rows=${of} id=${(d) => d.date} columns=${[['Day (UTC)', (d) => d.date], ['Sent', (d) => number(d.matched)], ['Left out', (d) => number(d.filtered)], ['Held', (d) => html`<span class=${d.failed ? 'poor' : ''}>${number(d.failed)}</span>`], ['Why', (d) => d.reason ?? '–']]} />`}</section>`;
