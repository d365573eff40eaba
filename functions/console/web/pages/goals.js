// Module goals shows whether each goal keeps up with its time, and makes and moves those of the company's own.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { clock, number, plural, sentence, words } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { filter, go, route } from '../lib/route.js';
import { Confirm } from '../ui/dialog.js';
import { asShown, createOnly, ifMatch } from '../ui/guard.js';
import { SchemaForm } from './form.js';
import { Listing } from './listing.js';
import { Source, Standing, standing } from './memory.js';
import { Table } from '../ui/table.js';
import { Action, Await, Choice, Curl, Empty, Head, Json, Loading, Status, Time, Trouble } from '../ui/parts.js';
import { Progress } from '../ui/charts.js';

const own = (g) => g.provider === 'company';
const write = () => may('memory:write');
const digits = { maxLength: 32 };

/** draft is the form of a goal of the company's own. */
const draft = {
  required: ['title'],
  properties: {
    title: { title: 'Title', maxLength: 200, description: 'What you want to reach.', examples: ['MRR'] }, due: { title: 'Due', description: 'A day. Without it, the goal has no pace.', examples: ['2026-12-31'] },
    current: { ...digits, title: 'Value now', description: 'Of a goal that a number measures. Leave it out if an integration brings the number.', examples: ['30000'] }, start: { ...digits, title: 'Start value', description: 'Where the way to the target begins: progress counts from here. Without it, the first value is the start.', examples: ['0'] }, target: { ...digits, title: 'Target value', description: 'The value that reaches the goal.', examples: ['50000'] },
    unit: { title: 'Unit', maxLength: 16, description: 'What is counted.', examples: ['EUR'] }, direction: { title: 'Direction', enum: ['up', 'down'], description: 'Whether the number must grow or fall.' },
  },
};

/** sources are the fields of a goal whose number a list of an integration gives. */
const sources = (lists) => ({
  from: { title: 'Number from', oneOf: lists.map(([provider, stream, title]) => ({ const: `${provider} ${stream}`, title: `${title ?? provider}: ${stream}` })), description: 'A list of an integration, whose syncs then read the value. Without it, you tell the value.' },
  pointer: { title: 'Where in a record', maxLength: 256, description: 'The field of a record that holds the number, as a JSON Pointer: /amount_paid is what an invoice of Stripe brought.', examples: ['/amount_paid'] },
  aggregate: { title: 'Made one by', enum: ['sum', 'count', 'last', 'max', 'min', 'avg'], description: 'What becomes of the numbers of all records.' },
  factor: { title: 'Times', maxLength: 32, description: 'A factor. 0.01 makes euros of cents, in which Stripe counts.', examples: ['0.01'] },
});

/** sourceOf is where the form says that the number comes from. */
const sourceOf = ({ from, pointer, aggregate, factor }) => {
  const [provider, stream] = (from ?? '').split(' ');
  return from && { provider, stream, pointer: pointer ?? '', aggregate: aggregate ?? 'sum', ...(factor && { factor }) };
};

const requested = ({ title, due, from, pointer, aggregate, factor, ...m }) => {
  const source = sourceOf({ from, pointer, aggregate, factor });
  return { title, ...(due && { dueAt: /^\d{4}-\d{2}-\d{2}$/.test(due) ? `${due}T00:00:00Z` : due }), ...((source || Object.values(m).some(Boolean)) && { measure: { direction: 'up', ...m, ...(source && { source }) } }) };
};

/** named leads what the service found wrong to the fields of the form. */
const named = (pointer) => pointer.replace(/^\/measure\/source\/(provider|stream)$/, '/from').replace(/^\/measure\/(source\/)?/, '/').replace(/^\/dueAt$/, '/due');

/** Try shows what value the form's source gives. body gives what is typed. */
function Try({ body }) {
  const [tried, setTried] = useState(null);
  const attempt = async () => {
    setTried(null);
    const source = sourceOf(body());
    if (!source) return { bad: 'Choose first where the number comes from.' };
    const { provider, ...asked } = source;
    setTried((await call('POST', `integrations/${encodeURIComponent(provider)}/measure/preview`, { body: asked })).body);
  };
  const links = (pointer) => ({ '/stream': ['g-from', 'Number from'], '/pointer': ['g-pointer', 'Where in a record'], '/factor': ['g-factor', 'Times'] })[pointer];
  return html`<p class="row"><${Action} label="Try the number" run=${attempt} links=${links} /></p>
    <div role="status">${tried && html`<p>${tried.value === undefined ? 'There is no value' : html`The value is <strong>${tried.value}</strong>`}, of ${plural(tried.records, 'record')}.${tried.problem && ` ${sentence(tried.problem)}.`}</p>
      ${tried.record && html`<details><summary>The first record</summary><${Json} value=${tried.record} label="The first record" /></details>`}`}</div>`;
}

/** NewGoal makes a goal of the company's own. */
function NewGoal() {
  const integrations = useLive('integrations', { poll: false }), connectors = useLive('connectors', { poll: false });
  const submit = async (body) => {
    try { const { body: made } = await call('POST', 'goals', { body: requested(body) }); forget('goals'); go(place(['goals', made.id])); } catch (problem) {
      problem.errors = problem.errors?.map((e) => ({ ...e, pointer: named(e.pointer) }));
      throw problem;
    }
  };
  const streams = Object.fromEntries((connectors.data?.items ?? []).map((c) => [c.provider, c.streams ?? []]));
  const lists = (integrations.data?.items ?? []).flatMap((i) => (streams[i.kind] ?? []).map((s) => [i.provider, s, i.title]));
  const schema = lists.length ? { ...draft, properties: { ...draft.properties, ...sources(lists) } } : draft;
  return html`<details class="card narrow"><summary>New goal</summary><div class="inside"><${SchemaForm} schema=${schema} label="Create" submit=${submit} prefix="g">${lists.length > 0 && may('integrations:write') && ((body) => html`<${Try} body=${body} />`)}<//></div></details>`;
}

export function Goals() {
  const { status = '', state = '', integration = '' } = route.value.query;
  const path = `goals?${new URLSearchParams({ limit: '50', ...standing(integration), ...(status && { status }), ...(state && { state }) })}`;
  return html`<${Head} title="Goals" about="Whether each goal's progress keeps up with its time."><${Curl} path=${path} /><//>
    ${write() && html`<${NewGoal} />`}
    <${Listing} path=${path} none=${html`<${Empty} title=${status || state ? 'None match' : 'No goals yet'}>A milestone at GitHub becomes a goal, and so does what you post or create.<${Source} /><//>`}
      filters=${html`<${Choice} label="Alignment" value=${status} options=${[['', 'All'], ...['aligned', 'drifting', 'misaligned'].map((s) => [s, sentence(s)])]} onPick=${(v) => filter({ status: v })} />
        <${Choice} label="State" value=${state} options=${[['', 'All'], ['open', 'Open'], ['closed', 'Closed']]} onPick=${(v) => filter({ state: v })} /><${Standing} value=${integration} />`}>
      ${(items) => html`<ul class="plain stack">${items.map((g) => html`<li key=${g.id} class="card goal"><div class="row spread"><h2><a href=${place(['goals', g.id])}>${g.title}</a></h2><${Status} of=${g.alignment.status} /></div>
        <${Progress} share=${g.progress} label=${g.title} /><p class="muted">${g.alignment.reasons.map(sentence).join('. ')}${g.dueAt ? html` · due ${clock(Date.parse(g.dueAt), true).slice(0, 10)}` : ''}</p></li>`)}</ul>`}<//>`;
}

export function Goal({ id }) {
  const live = useLive(`goals/${encodeURIComponent(id)}`);
  return html`<${Head} title=${live.data?.title ?? 'Goal'} up=${{ href: '#/goals', text: 'Goals' }}><${Curl} path=${`goals/${encodeURIComponent(id)}`} /><//>
    <${Await} of=${live}>${(g, etag) => html`<section class="card"><p class="row"><${Status} of=${g.alignment.status} /><span class="muted">score ${number(g.alignment.score)}</span></p><${Progress} share=${g.progress} label="Progress" />
      <ul>${g.alignment.reasons.map((r) => html`<li key=${r}>${sentence(r)}</li>`)}</ul><dl class="facts"><div><dt>State</dt><dd>${sentence(words(g.state))}</dd></div>
      <div><dt>Due</dt><dd>${g.dueAt ? clock(Date.parse(g.dueAt), true).slice(0, 10) : 'no date'}</dd></div><div><dt>From</dt><dd>${own(g) ? 'the company' : html`<a href=${place(['integrations', g.provider])}>${g.provider}</a>`}</dd></div>${g.measure && html`<div><dt>Value</dt><dd>${g.measure.current ?? 'none yet'} of ${g.measure.target} ${g.measure.unit}${g.measure.start && `, from ${g.measure.start}`}</dd></div>`}${g.measure?.source && html`<div><dt>Read from</dt><dd><a href=${place(['integrations', g.measure.source.provider])}>${g.measure.source.provider}</a>: the ${g.measure.source.aggregate} of <code>${g.measure.source.pointer || 'records'}</code> in ${g.measure.source.stream}${g.measure.source.factor && `, times ${g.measure.source.factor}`}${g.measure.source.endedAt && html`, until <${Time} at=${g.measure.source.endedAt} />`}</dd></div>`}<div><dt>Changed</dt><dd><${Time} at=${g.updatedAt} /></dd></div></dl></section>
      ${own(g) && write() && html`<${Own} key=${etag} of=${g} etag=${etag} reload=${live.reload} />`}
      ${g.measure && html`<${History} id=${id} unit=${g.measure.unit} />`}
      ${g.alignment.status !== 'aligned' && html`<${Explanation} path=${`goals/${encodeURIComponent(id)}/explanation`} />`}`}<//>`;
}

/** Own moves, closes and deletes a goal of the company's own. */
function Own({ of, etag, reload }) {
  const path = `goals/${encodeURIComponent(of.id)}`, [value, setValue] = useState(of.measure?.current ?? String(Math.round(of.progress * 100))), [ask, setAsk] = useState(false);
  const change = (body) => async () => { await asShown(() => call('PATCH', path, { body, headers: ifMatch(etag) }), reload); forget('goals'); reload(); };
  const moved = of.measure ? { measure: { current: value.trim() } } : { progress: Number(value) / 100 };
  const source = of.measure?.source, read = async () => { await call('POST', `memory/sync/${encodeURIComponent(source.provider)}`, { body: {} }); forget('memory/syncs'); return html`A run was requested. <a href="#/syncs">See the syncs</a>`; };
  return html`<section class="card narrow"><h2>Change</h2>${source ? html`<p class="row">${!source.endedAt && html`<${Action} primary label="Sync now" run=${read} />`}<${Action} label="Tell the value by hand" run=${change({ measure: { source: null } })} /></p>` : html`<label class="field"><span>${of.measure ? `Value, ${of.measure.unit}` : 'Done, %'}</span><input id="goal-value" value=${value} inputmode="decimal" autocomplete="off" onInput=${(e) => setValue(e.currentTarget.value)} /></label>`}
    <p class="row">${!source && html`<${Action} primary label="Store" run=${change(moved)} />`}<${Action} label=${of.state === 'open' ? 'Close the goal' : 'Open it again'} run=${change({ state: of.state === 'open' ? 'closed' : 'open' })} /><button type="button" class="danger" onClick=${() => setAsk(true)}>Delete</button></p>
    ${ask && html`<${Confirm} title="Delete the goal" name=${of.title} label="Delete" close=${() => setAsk(false)} consequences=${['The goal and its history are gone.', 'What it did stays on the timeline.']}
      run=${async () => { await asShown(() => call('DELETE', path, { headers: ifMatch(etag) }), reload); forget('goals'); go('#/goals'); }} />`}</section>`;
}

/** History shows the values of a goal by day. */
function History({ id, unit }) {
  const live = useLive(`goals/${encodeURIComponent(id)}/history`);
  return html`<section><h2>History</h2><${Await} of=${live}>${({ items }) => html`<${Table} label="History" id=${(v) => v.day} rows=${items} columns=${[['Day', (v) => v.day], [`Value, ${unit}`, (v) => v.current], ['Done', (v) => `${number(Math.round(v.progress * 1000) / 10)} %`]]} />`}<//></section>`;
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
