// Module executives shows the company's automated agents: what each may ask for, its certification, and its actions.
import { html, useState } from '../lib/h.js';
import { Problem, call, may } from '../lib/api.js';
import { plural, sentence, words } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { outcome } from '../lib/outcome.js';
import { place, placeOf } from '../lib/places.js';
import { filter, go, route } from '../lib/route.js';
import { Confirm } from '../ui/dialog.js';
import { SchemaForm } from './form.js';
import { asShown, createOnly, ifMatch, useGuard } from '../ui/guard.js';
import { Listing, usePeople } from './listing.js';
import { Table } from '../ui/table.js';
import { Action, Await, Choice, Empty, Evidence, Loading, Status, Time } from '../ui/parts.js';

/** inputs lists what each action takes: the fields that it needs, then those that it may have. */
const inputs = {
  'memory.sync': [['provider'], ['mode']], 'recommendation.claim': [['recommendationId'], []], 'recommendation.dismiss': [['recommendationId', 'reason', 'text'], ['until']], 'integration.disable': [['provider'], []], 'timeline.note': [['title'], ['subject']],
  'goal.note': [['goalId', 'title'], []], 'deliveries.recover': [['provider', 'since'], ['until']],
};
const names = Object.keys(inputs);
const readable = ['mission-control:read', 'intelligence:read', 'integrations:read', 'memory:read', 'operations:read', 'executives:read'];

const properties = {
  provider: { title: 'Integration', description: 'Such as github, or webhook-billing.' }, mode: { title: 'Mode', enum: ['incremental', 'full'], description: 'Full fetches everything again.' },
  title: { title: 'Text', maxLength: 1024, description: 'The text of the note.' }, subject: { title: 'Subject', description: 'What the note is about.' },
  goalId: { title: 'Goal', description: 'The id of a goal, from its address.' }, recommendationId: { title: 'Recommendation', description: 'The id of a recommendation, as the API tells it.' },
  reason: { title: 'Reason', enum: ['not-applicable', 'accepted-risk', 'other-method', 'low-priority', 'planned', 'other'] }, text: { title: 'In words', minLength: 10, maxLength: 4096, description: 'Why it need not be done for now.' },
  since: { title: 'Since', description: 'Deliveries of events from this time on.', examples: ['2026-01-01T00:00:00Z'] }, until: { title: 'Until', description: 'Without it: until now; a dismissal lasts 90 days.' },
};

const write = () => may('executives:write');
const at = (id) => `executives/${encodeURIComponent(id)}`;

/** Executives lists the executives, or shows the one with the id. */
export const Executives = ({ id }) => (id ? html`<${Executive} key=${id} id=${id} />` : html`<${All} />`);

function All() {
  const live = useLive('executives');
  if (live.problem?.status === 404) return html`<${Empty} title="Executives are switched off">Whoever runs the service has left the Executive Runtime out.<//>`;
  return html`<${Await} of=${live}>${({ items }) => html`${items.length === 0
    ? html`<${Empty} title="No executives yet">An executive is an automated agent. It may ask for the actions that it declares, within a daily quota, and a user answers for it.<//>`
    : html`<ul class="plain grid two">${items.map((e) => html`<li key=${e.id} class="card"><div class="row spread"><h2><a href=${place(['operations', 'executives', e.id])}>${e.name}</a></h2><${Status} of=${e.state} /></div><p>${e.role}</p>
      <p class="muted fine">${e.actions.map((a) => html`<code key=${a}>${a}</code> `)} ${plural(e.quotaPerDay ?? 0, 'action')} a day</p></li>`)}</ul>`}
    ${write() && html`<section class="card narrow"><h2>Configure an executive</h2><${Draft} label="Configure" stored=${(e) => go(place(['operations', 'executives', e.id]))} /></section>`}`}<//>`;
}

/** Draft is the form of an executive. A stored one keeps its name, from which its id follows. */
function Draft({ of, etag, label, stored }) {
  const people = useOwners(), schema = draft(of, people.list), named = (id) => people.list?.find((p) => p.const === id)?.title ?? id;
  const view = (e) => ({ Role: e.role, Owner: named(e.owner), 'Actions a day': e.quotaPerDay, Actions: [...(e.actions ?? [])].sort().join(', '), Reads: [...(e.reads ?? [])].sort().join(', ') });
  const guard = useGuard({ path: of && at(of.id), data: of, etag, view, took: () => stored() });
  const submit = (body) => {
    const mine = { ...body, actions: body.actions ?? [], ...(of && { name: of.name }) };
    const done = (answer) => { forget('executives'); stored(answer.body); };
    return of ? guard.write(view(mine), (tag) => call('POST', 'executives', { body: mine, headers: ifMatch(tag) }), done) : created(mine).then(done);
  };
  if (people.loading) return html`<${Loading} />`;
  return html`<${SchemaForm} key=${guard.turn} schema=${schema} config=${guard.data} label=${label} submit=${submit} prefix="x" />${guard.dialog}`;
}

/** created creates an executive. One that has the name already is not replaced. */
async function created(body) {
  try {
    return await call('POST', 'executives', { body, headers: createOnly });
  } catch (problem) {
    if (problem.status === 412) problem = new Problem({ title: `${body.name} exists already`, detail: 'Nothing was replaced. Choose another name, or open the executive in the list above to change it.' }, 412);
    throw problem;
  }
}

/** useOwners lists the users who may answer for an executive. */
function useOwners() {
  const users = useLive(may('operations:write') ? 'operations/users?limit=100' : null, { poll: false });
  const people = users.data?.items.filter((u) => u.state !== 'invited').map((u) => ({ const: u.id, title: u.name || u.email }));
  return { list: people, loading: users.loading };
}

/** draft returns the schema of the form. */
function draft(of, people) {
  return {
    required: ['name', 'role', 'owner', 'quotaPerDay'],
    properties: {
      ...(!of && { name: { title: 'Name', description: 'Unique in the company.', examples: ['Chief of Staff'] } }), role: { title: 'Role', description: 'What it is for, in words.' },
      owner: { title: 'Owner', description: 'The user who answers for it. It acts only while this user is active.', ...(people && { oneOf: people }) },
      quotaPerDay: { title: 'Actions a day', type: 'integer', minimum: 1, maximum: 1000, description: 'Tried ones count too.', examples: [100] },
      reads: { title: 'Reads', type: 'array', items: { enum: readable }, description: 'What it reads when it acts by itself, through a client that is bound to it.' },
      actions: { title: 'Actions', type: 'array', items: { enum: names }, description: 'What it may ask for. The policies refuse any other one.' },
    },
  };
}

function Executive({ id }) {
  const live = useLive(at(id)), named = usePeople(), [ask, setAsk] = useState(false), [acted, setActed] = useState(0);
  const changed = () => { forget('executives'); live.reload(); };
  return html`<p><a class="up" href="#/operations/executives">‹ Executives</a></p><${Await} of=${live}>${(e, etag) => html`
    <section class="card"><div class="row spread"><h2>${e.name}</h2><${Status} of=${e.state} /></div><p>${e.role}</p>
      <dl class="facts"><div><dt>May ask for</dt><dd>${e.actions.length ? e.actions.map((a) => html`<code key=${a}>${a}</code> `) : 'nothing'}</dd></div><div><dt>Reads with</dt><dd>${e.reads?.length ? e.reads.map((s) => html`<code key=${s}>${s}</code> `) : 'nothing'}</dd></div><div><dt>Quota</dt><dd>${plural(e.quotaPerDay ?? 0, 'action')} a day</dd></div>
        <div><dt>Owner</dt><dd>${named(e.owner) ?? html`<code>${e.owner}</code>`}</dd></div><div><dt>Certified until</dt><dd>${e.certification ? html`<${Time} at=${e.certification.expiresAt} />` : 'not certified: its actions are proposed, and take no effect'}</dd></div></dl></section>
    <${Certification} id=${id} changed=${changed} />
    ${write() && e.actions.length > 0 && html`<${Ask} of=${e} done=${() => setActed((n) => n + 1)} />`}
    <section><h2>Its actions</h2><${Actions} key=${acted} id=${id} /></section>
    ${write() && html`<section class="card narrow"><h2>Change</h2><p class="note">Any change returns it to the sandbox.</p><${Draft} of=${e} etag=${etag} label="Save" stored=${changed} />
      <p class="row"><button type="button" class="danger" onClick=${() => setAsk(true)}>Delete</button><span class="muted">What it did stays on the timeline.</span></p></section>`}
    ${ask && html`<${Confirm} title="Delete ${e.name}" name=${e.name} label="Delete" close=${() => setAsk(false)} consequences=${['It can ask for nothing any more.', 'Its actions and decisions stay on record.']}
      run=${async () => { await asShown(() => call('DELETE', at(id), { headers: ifMatch(etag) }), changed); forget('executives'); go('#/operations/executives'); }} />`}`}<//>`;
}

function Certification({ id, changed }) {
  const path = `${at(id)}/certification`, live = useLive(path, { poll: false }), none = live.problem?.status === 404;
  const run = async () => {
    const { body } = await call('POST', path);
    live.reload();
    changed();
    return outcome('certify-executive', body);
  };
  return html`<section class="card"><h2>Certification</h2><p class="muted">When every check passes, its permitted actions are done for 90 days.</p>
    ${write() && html`<p><${Action} primary label=${none ? 'Run the certification' : 'Run the certification again'} run=${run} /></p>`}
    ${none ? html`<${Empty} title="No run yet">A run asks for what the executive did not declare, and each must be refused.<//>` : html`<${Await} of=${live}>${(r) => html`<p class="row"><${Status} of=${r.passed ? 'pass' : 'fail'} /><span class="muted"><${Time} at=${r.at} /></span></p>
      <ol class="plain checks">${r.checks.map((c) => html`<li key=${c.id}><span class="row"><${Status} of=${c.status} /><strong>${c.title}</strong></span><span class="reason muted">${sentence(c.reason)}</span><${Evidence} of=${c.evidence} /></li>`)}</ol>`}<//>`}</section>`;
}

/** Ask asks for an action in the executive's name. In the sandbox the service tries it and changes nothing. */
function Ask({ of, done }) {
  const [action, setAction] = useState(of.actions[0]), [answer, setAnswer] = useState(null), [needed, optional] = inputs[action] ?? [[], []];
  const schema = { required: needed, properties: Object.fromEntries([...needed, ...optional].map((n) => [n, properties[n]])) };
  const submit = async (input) => {
    setAnswer(null);
    try {
      setAnswer((await call('POST', `${at(of.id)}/actions`, { body: { action, input } })).body);
    } catch (problem) { // the fields of the form are those of the body's input
      problem.errors = (problem.errors ?? []).map((e) => ({ ...e, pointer: e.pointer.replace(/^\/input/, '') }));
      throw problem;
    } finally { done(); }
  };
  const trial = of.state === 'sandbox';
  return html`<section class="card narrow"><h2>${trial ? 'Try an action' : 'Ask for an action'}</h2><p class="muted">${trial ? 'The answer shows the verdict and the effect. Nothing else changes.' : 'A permitted action is done at once. One that needs an approval waits for another user.'}</p>
    <${Choice} label="Action" value=${action} options=${of.actions.map((a) => [a, a])} onPick=${(a) => { setAnswer(null); setAction(a); }} />
    <${SchemaForm} key=${action} schema=${schema} label=${trial ? 'Try' : 'Ask'} submit=${submit} prefix="a" />
    ${answer && html`<p class="note" role="status"><${Status} of=${answer.decision.verdict} /> ${sentence(words(answer.state))}: ${answer.effect?.summary ?? answer.decision.reasons.join(' · ')}${answer.state === 'pending' && html` <a href=${place(['operations', 'approvals'])}>Approvals</a>`}</p>`}</section>`;
}

const subjectOf = (s) => (s ? placeOf(`/companies/-/${{ sync: 'memory/syncs', goal: 'goals', integration: 'integrations', recommendation: 'intelligence/recommendations' }[s.type] ?? '-'}/${encodeURIComponent(s.id)}`) : null);

function Actions({ id }) {
  const { state = '' } = route.value.query, people = usePeople();
  return html`<${Listing} path=${`${at(id)}/actions?${new URLSearchParams({ limit: '50', ...(state && { state }) })}`} none=${html`<${Empty} title=${state ? 'None match' : 'It has asked for nothing yet'}>Each action is kept for 180 days, tried ones too.<//>`}
    filters=${html`<${Choice} label="State" value=${state} options=${[['', 'All'], ...['proposed', 'pending', 'done', 'denied', 'rejected', 'expired', 'withdrawn'].map((s) => [s, sentence(s)])]} onPick=${(v) => filter({ state: v })} />`}>
    ${(items, _, fresh) => html`<${Table} label="Actions" rows=${items} fresh=${fresh} columns=${[['State', (a) => html`<${Status} of=${a.state} />`], ['Action', (a) => html`<code>${a.action}</code>`],
      ['Asked by', (a) => (a.clientId ? a.requestedBy ? html`itself, for ${people(a.requestedBy) ?? html`<code>${a.requestedBy}</code>`}` : 'itself' : people(a.requestedBy) ?? html`<code>${a.requestedBy}</code>`)],
      ['Effect', (a) => (subjectOf(a.effect?.subject) ? html`<a href=${subjectOf(a.effect.subject)}>${a.effect.summary}</a>` : a.effect?.summary ?? a.decision.reasons.join(' · '))], ['When', (a) => html`<${Time} at=${a.at} />`]]} />`}<//>`;
}
