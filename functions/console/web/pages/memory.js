// Module memory shows what connectors brought in, and the runs that fetched it.
import { html } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { counted, number, safeLink } from '../lib/format.js';
import { useAll, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { filter, route } from '../lib/route.js';
import { Listing } from './listing.js';
import { Table } from '../ui/table.js';
import { Action, Await, Choice, Curl, Empty, Head, Json, Loading, Status, Time, Trouble } from '../ui/parts.js';

/** Source leads to what brings memories and goals. */
export const Source = () => html`<p><a class="button" href="#/connect">Connect a source</a></p>`;

/** Outside links to an address that a provider gave, if it is http or https. */
const Outside = ({ url }) => { const to = safeLink(url); return to ? html`<a href=${to} rel="noopener noreferrer" target="_blank">${to}</a>` : html`<span>${url}</span>`; };

const columns = [
  ['Title', (m) => html`<a href=${place(['memory', m.id])}>${m.title}</a>`], ['Kind', (m) => m.kind],
  ['From', (m) => html`<a href=${place(['integrations', m.provider])}>${m.provider}</a>`], ['Changed', (m) => html`<${Time} at=${m.updatedAt} />`],
];

const batch = 50;

/** standing returns the parameter of the API that leaves out what deleted integrations imported, unless the value asks for it. */
export const standing = (value) => value === 'all' ? {} : { integration: value || 'current' };

/** Standing chooses whose items are listed. */
export const Standing = ({ value }) => html`<${Choice} label="Integrations" value=${value === 'current' ? '' : value} options=${[['', 'Connected'], ['deleted', 'Deleted'], ['all', 'All']]} onPick=${(v) => filter({ integration: v })} />`;

export function Memories() {
  const { provider = '', kind = '', title = '', integration = '', shown = batch } = route.value.query;
  const path = `memory?${new URLSearchParams({ limit: '100', ...standing(integration), ...(provider && { provider }), ...(kind && { kind }), ...(title && { title }) })}`, all = useAll(path, byTime);
  const text = (label, name, value, placeholder) => html`<label class="choice"><span>${label}</span><input value=${value} placeholder=${placeholder} onChange=${(e) => filter({ [name]: e.currentTarget.value.trim(), shown: '' })} /></label>`;
  const items = all.items.slice(0, Number(shown));
  return html`<${Head} title="Memory" about="What connectors brought in, the newest first."><a class="button" href="#/syncs">Syncs</a><${Curl} path=${path} /><//>
    <div class="filters">${text('Title', 'title', title, 'part of it')}${text('Provider', 'provider', provider)}${text('Kind', 'kind', kind)}<${Standing} value=${integration} /></div>
    <${Trouble} problem=${all.problem} retry=${all.reload} />
    ${items.length === 0 && all.loading && html`<${Loading} rows=${5} />`}
    ${items.length === 0 && !all.loading && !all.problem && html`<${Empty} title=${provider || kind || title ? 'None match' : 'No memories yet'}>Issues, feed entries and items that you post become memories.<${Source} /><//>`}
    ${all.rest && html`<p class="note">These are the newest of ${number(all.items.length)} that were looked at. There are more: filter them to see the others.</p>`}
    ${items.length > 0 && html`<${Table} label="Memories" rows=${items} fresh=${all.fresh} columns=${columns} />`}
    ${items.length < all.items.length && html`<div class="more"><button type="button" onClick=${() => filter({ shown: Number(shown) + batch })}>Show more</button></div>`}`;
}

const byTime = (a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt);

export function Memory({ id }) {
  const live = useLive(`memory/${encodeURIComponent(id)}`);
  return html`<${Head} title=${live.data?.title ?? 'Memory'} up=${{ href: '#/memory', text: 'Memory' }}><${Curl} path=${`memory/${encodeURIComponent(id)}`} /><//>
    <${Await} of=${live}>${(m) => html`<section class="card"><dl class="facts"><div><dt>Kind</dt><dd>${m.kind}</dd></div><div><dt>From</dt><dd><a href=${place(['integrations', m.provider])}>${m.provider}</a> <span class="muted">${m.externalId}</span></dd></div>
      ${m.url && html`<div><dt>Address</dt><dd><${Outside} url=${m.url} /></dd></div>`}<div><dt>Created</dt><dd><${Time} at=${m.createdAt} /></dd></div><div><dt>Changed</dt><dd><${Time} at=${m.updatedAt} /></dd></div></dl></section>
      ${m.body ? html`<${Json} value=${m.body} label="Body" />` : html`<p class="muted">It has no body.</p>`}`}<//>`;
}

const going = (run) => ['requested', 'running', 'awaiting-confirmation'].includes(run.state);

export function Syncs({ run }) {
  return html`<${Head} title="Syncs" up=${{ href: '#/memory', text: 'Memory' }} about="Each run fetches a source page by page."><${Curl} path="memory/syncs" /><//>
    <${Listing} path="memory/syncs?limit=50" none=${html`<${Empty} title="No runs yet">A source such as a feed syncs on request.<${Source} /><//>`}>
      ${(items, reload) => html`<ul class="plain stack">${items.map((r) => html`<li key=${r.id} class="card ${r.id === run ? 'marked' : ''}"><div class="row spread"><span class="row"><strong><a href=${place(['integrations', r.provider])}>${r.provider}</a></strong><${Status} of=${r.state} /><span class="muted">${r.mode}</span></span><span class="muted"><${Time} at=${r.requestedAt} /></span></div>
        <p class="muted">${Object.entries(r.progress).filter(([, n]) => n > 0).map(([what, n]) => counted(n, what)).join(' · ') || 'Nothing fetched'}</p>${r.error && html`<p class="wrong">${typeof r.error === 'string' ? r.error : r.error.detail ?? JSON.stringify(r.error)}</p>`}
        ${r.state === 'awaiting-confirmation' && may('memory:write') && html`<${Action} label=${`Remove ${r.removal.items} of ${r.removal.of} items`} danger run=${async () => { await call('POST', `memory/syncs/${r.id}/confirm`); reload(); }} />`}
        ${going(r) && may('memory:write') && html`<${Action} label="Cancel the run" run=${async () => { await call('POST', `memory/syncs/${r.id}/cancel`); reload(); }} />`}</li>`)}</ul>`}<//>`;
}
