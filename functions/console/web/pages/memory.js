// Module memory shows what connectors brought in: memories, goals and the runs that fetched them.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { clock, counted, number, safeLink, sentence, words } from '../lib/format.js';
import { forget, useAll, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { filter, route } from '../lib/route.js';
import { asShown, createOnly, ifMatch } from '../ui/guard.js';
import { Listing } from './listing.js';
import { Table } from '../ui/table.js';
import { Action, Await, Choice, Curl, Empty, Head, Json, Loading, Status, Time, Trouble } from '../ui/parts.js';
import { Progress } from '../ui/charts.js';

const Source = () => html`<p><a class="button" href="#/connect">Connect a source</a></p>`;

/** Outside links to an address that a provider gave, if it is http or https. */
const Outside = ({ url }) => { const to = safeLink(url); return to ? html`<a href=${to} rel="noopener noreferrer" target="_blank">${to}</a>` : html`<span>${url}</span>`; };

const columns = [
  ['Title', (m) => html`<a href=${place(['memory', m.id])}>${m.title}</a>`], ['Kind', (m) => m.kind],
  ['From', (m) => html`<a href=${place(['integrations', m.provider])}>${m.provider}</a>`], ['Changed', (m) => html`<${Time} at=${m.updatedAt} />`],
];

const batch = 50;

/** standing returns the parameter of the API that leaves out what deleted integrations imported, unless the value asks for it. */
const standing = (value) => value === 'all' ? {} : { integration: value || 'current' };

const Standing = ({ value }) => html`<${Choice} label="Integrations" value=${value === 'current' ? '' : value} options=${[['', 'Connected'], ['deleted', 'Deleted'], ['all', 'All']]} onPick=${(v) => filter({ integration: v })} />`;

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

export function Goals() {
  const { status = '', state = '', integration = '' } = route.value.query;
  const path = `goals?${new URLSearchParams({ limit: '50', ...standing(integration), ...(status && { status }), ...(state && { state }) })}`;
  return html`<${Head} title="Goals" about="Whether each goal's progress keeps up with its time."><${Curl} path=${path} /><//>
    <${Listing} path=${path} none=${html`<${Empty} title=${status || state ? 'None match' : 'No goals yet'}>A milestone at GitHub becomes a goal, and so does what you post.<${Source} /><//>`}
      filters=${html`<${Choice} label="Alignment" value=${status} options=${[['', 'All'], ...['aligned', 'drifting', 'misaligned'].map((s) => [s, sentence(s)])]} onPick=${(v) => filter({ status: v })} />
        <${Choice} label="State" value=${state} options=${[['', 'All'], ['open', 'Open'], ['closed', 'Closed']]} onPick=${(v) => filter({ state: v })} /><${Standing} value=${integration} />`}>
      ${(items) => html`<ul class="plain stack">${items.map((g) => html`<li key=${g.id} class="card goal"><div class="row spread"><h2><a href=${place(['goals', g.id])}>${g.title}</a></h2><${Status} of=${g.alignment.status} /></div>
        <${Progress} share=${g.progress} label=${g.title} /><p class="muted">${g.alignment.reasons.map(sentence).join('. ')}${g.dueAt ? html` · due ${clock(Date.parse(g.dueAt), true).slice(0, 10)}` : ''}</p></li>`)}</ul>`}<//>`;
}

export function Goal({ id }) {
  const live = useLive(`goals/${encodeURIComponent(id)}`);
  return html`<${Head} title=${live.data?.title ?? 'Goal'} up=${{ href: '#/goals', text: 'Goals' }}><${Curl} path=${`goals/${encodeURIComponent(id)}`} /><//>
    <${Await} of=${live}>${(g) => html`<section class="card"><p class="row"><${Status} of=${g.alignment.status} /><span class="muted">score ${number(g.alignment.score)}</span></p><${Progress} share=${g.progress} label="Progress" />
      <ul>${g.alignment.reasons.map((r) => html`<li key=${r}>${sentence(r)}</li>`)}</ul><dl class="facts"><div><dt>State</dt><dd>${sentence(words(g.state))}</dd></div>
      <div><dt>Due</dt><dd>${g.dueAt ? clock(Date.parse(g.dueAt), true).slice(0, 10) : 'no date'}</dd></div><div><dt>From</dt><dd><a href=${place(['integrations', g.provider])}>${g.provider}</a></dd></div><div><dt>Changed</dt><dd><${Time} at=${g.updatedAt} /></dd></div></dl></section>
      ${g.alignment.status !== 'aligned' && html`<${Explanation} path=${`goals/${encodeURIComponent(id)}/explanation`} />`}`}<//>`;
}

/** Explanation shows why a goal may be off its pace for now, and stores it. */
function Explanation({ path }) {
  const live = useLive(path, { poll: false }), [text, setText] = useState('');
  const change = (method, headers, body) => async () => { await asShown(() => call(method, path, { body, headers }), live.reload); forget(''); live.reload(); };
  if (live.loading) return html`<${Loading} rows=${1} />`;
  const stored = live.problem ? null : live.data;
  return html`<section class="card narrow"><h2>Explanation</h2><p class="muted">Says why the goal may be off its pace. For at most 90 days it then holds nothing up.</p>
    ${live.problem && live.problem.status !== 404 && html`<${Trouble} problem=${live.problem} retry=${live.reload} />`}
    ${stored && html`<p>${stored.text}</p><p class="row"><span class="muted">until <${Time} at=${stored.until} /></span>${may('memory:write') && html`<${Action} label="Withdraw" run=${change('DELETE', ifMatch(live.etag))} />`}</p>`}
    ${!stored && may('memory:write') && html`<label class="field"><span>Why, in your words</span><textarea rows="2" minlength="10" value=${text} onInput=${(e) => setText(e.currentTarget.value)}></textarea></label><p><${Action} label="Explain" run=${change('PUT', createOnly, { text })} /></p>`}</section>`;
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
