// Module operations holds the pages of who runs the company: what failed, what waits for an answer, who may do what.
import { html, useState } from '../lib/h.js';
import { call, may, now, userId } from '../lib/api.js';
import { number, percent, plural, sentence, span, words } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { bad } from '../lib/outcome.js';
import { place, placeOf } from '../lib/places.js';
import { filter, route } from '../lib/route.js';
import { Action, Await, Choice, Copy, Curl, Empty, Head, Json, Links, Status, Time } from '../ui/parts.js';
import { Listing, usePeople } from './listing.js';
import { Table } from '../ui/table.js';
import { Confirm } from '../ui/dialog.js';
import { Erasure, Export } from './company.js';
import { Access } from './access.js';
import { Channels } from './channels.js';
import { Clients } from './clients.js';
import { Executives } from './executives.js';
import { Notices } from './notices.js';
import { SecondFactor } from './factors.js';
import { Policies } from './policies.js';
import { Run } from './recover.js';
import { SignOnSettings } from './signon.js';
import { Users } from './users.js';

export { SlackLink } from './channels.js';
export { Clash } from './clash.js';
export { Authorize } from './consent.js';
export { Connect } from './connect.js';
export { Connected, Link } from './connected.js';
export { Events, Filter } from './events.js';
export { Account } from './account.js';
export { Elsewhere } from './elsewhere.js';
export { Join } from './factors.js';
export { Delivery } from './delivery.js';
export { Timeline } from './timeline.js';
export { Mapping } from './mapping.js';
export { Goal, Goals } from './goals.js';
export { Memories, Memory, Syncs } from './memory.js';
export { Paused } from './paused.js';
export { Receiving } from './receiving.js';
export { Dismiss } from './dismiss.js';
export { Recover } from './recover.js';
export { Replace } from './replace.js';
export { AskReset, Reset } from './reset.js';
export { Settings } from './settings.js';

const reference = (r) => (r ? `${r.type} ${r.id}` : '–');
const choose = (label, name, values, all = 'All') => html`<${Choice} label=${label} value=${route.value.query[name]} options=${[['', all], ...values.map((v) => [v, sentence(words(v))])]} onPick=${(v) => filter({ [name]: v })} />`;
const listed = (path, names) => `operations/${path}?${new URLSearchParams({ limit: '50', ...Object.fromEntries(names.map((n) => [n, route.value.query[n]]).filter(([, v]) => v)) })}`;

const firing = { pass: 'quiet', warn: 'fires', fail: 'fires', unknown: 'too few attempts' };
const alerts = [['Alert', (a) => html`<${Status} of=${a.status} label=${firing[a.status]} />`], ['Windows', (a) => `${span(a.shortSeconds)} and ${span(a.longSeconds)}`],
  ['Burn rates', (a) => `${number(a.shortRate)} and ${number(a.longRate)}`], ['Threshold', (a) => number(a.threshold)]];

/** Attempts says whether an endpoint gets attempts now. */
const Attempts = ({ of }) => (of.paused ? html`<${Status} of="paused" label=${of.paused.reason === 'failing' ? 'paused: they fail' : 'paused: it asked for a wait'} /> <small class="muted">until <${Time} at=${of.paused.until} /></small>`
  : of.breaker === 'half-open' ? html`<${Status} of="warn" label="the next one decides" />` : of.failingSince ? html`<${Status} of="bad" label="they fail" /> <small class="muted">since <${Time} at=${of.failingSince} /></small>` : '–');
const endpoints = [['Endpoint', (e) => html`<a href=${place(['integrations', e.provider])}>${e.provider}</a>`], ['State', (e) => html`<${Status} of=${!e.state ? 'removed' : e.enabled ? e.state : 'disabled'} />`],
  ['Attempts', (e) => html`<${Attempts} of=${e} />`], ['Success, 24 h', (e) => html`<span class=${e.failed > 0 ? 'poor' : ''}>${percent(e.successRate)}</span>`],
  ['Waiting', (e) => number(e.waiting)], ['Held', (e) => number(e.held)], ['Dead letters', (e) => html`<span class=${e.dead ? 'poor' : ''}>${number(e.dead)}</span>`]];

function Reliability() {
  const live = useLive('operations/reliability');
  return html`<${Await} of=${live}>${(r) => html`<section class="card"><p>The objective: ${percent(r.objective)} of the attempts succeed. A burn rate of 1 uses up exactly the failures that this allows.</p>
    <${Table} label="Windows" rows=${r.windows} id=${(w) => w.seconds} columns=${[['Window', (w) => span(w.seconds)], ['Delivered', (w) => number(w.delivered)], ['Failed', (w) => number(w.failed)], ['Success', (w) => percent(w.successRate)], ['Burn rate', (w) => number(w.burnRate)]]} />
    <dl class="figures"><div><dt>Waiting</dt><dd>${number(r.backlog.waiting)}</dd></div><div><dt>Held</dt><dd>${number(r.backlog.held)}</dd></div><div><dt>Dead letters</dt><dd class=${r.backlog.dead ? 'poor' : ''}>${number(r.backlog.dead)}</dd></div></dl>
    <p class="muted">${r.backlog.oldestAt ? html`The oldest delivery that waits is from <${Time} at=${r.backlog.oldestAt} />.` : 'No delivery waits.'} As of <${Time} at=${r.asOf} />.</p></section>
    <section><h2>Alerts</h2><p class="muted">An alert fires when the burn rates of both its windows reach its threshold.</p>
      <${Table} label="Alerts" rows=${r.alerts} id=${(a) => a.longSeconds} columns=${alerts} /></section>
    <section><h2>Endpoints</h2>${r.endpoints.length === 0 ? html`<p class="muted">No endpoint receives events yet.</p>` : html`<${Table} label="Endpoints" rows=${r.endpoints} id=${(e) => e.provider} columns=${endpoints} />`}</section>`}<//>`;
}

function DeadLetters() {
  const [ask, setAsk] = useState(false), [runs, setRuns] = useState([]), [ended, setEnded] = useState(0), path = listed('dead-letters', ['provider', 'event']);
  const replay = async () => { setRuns((await call('POST', 'operations/dead-letters/replay', { body: { since: new Date(now() - 29.9 * 86_400_000).toISOString() } })).body.recoveries); };
  return html`${runs.map((r) => html`<section key=${r.id} class="card"><h2>Replay to ${r.provider}</h2><${Run} provider=${r.provider} of=${r} done=${() => setEnded((n) => n + 1)} /></section>`)}
    <${Listing} key=${ended} path=${path} none=${html`<${Empty} title="No dead letters">A delivery becomes one when its tenth attempt fails, after about three days.<//>`}>
    ${(items, _, fresh) => html`${may('operations:write') && html`<p><button type="button" onClick=${() => setAsk(true)}>Replay…</button></p>`}
      <${Table} label="Dead letters" rows=${items} fresh=${fresh} id=${(d) => d.provider + d.deliveryId} columns=${[['Event', (d) => html`<a href=${placeOf(d.href)}>${d.event}</a>`], ['Endpoint', (d) => html`<a href=${place(['integrations', d.provider])}>${d.provider}</a>`], ['Answer', (d) => d.status ?? d.error], ['Attempts', (d) => d.attempts], ['Last', (d) => html`<${Time} at=${d.at} />`]]} />`}<//>
    ${ask && html`<${Confirm} title="Replay the dead letters" label="Replay" close=${() => setAsk(false)} run=${replay} consequences=${['Every dead letter of the last 30 days goes out again, also those that are not shown.', 'A receiver that has handled an event sees the same webhook-id again.']} />`}`;
}

function Approvals() {
  const answer = (id, what, reload) => async () => {
    const { body } = await call('POST', `operations/approvals/${id}/${what}`);
    reload();
    return body.decision && body.decision.verdict !== 'permitted' ? bad('Approved, but the policies of now do not permit it.') : 'Answered.';
  };
  return html`<${Listing} path=${listed('approvals', ['state'])} filters=${choose('State', 'state', ['pending', 'approved', 'rejected', 'expired', 'withdrawn'])} none=${html`<${Empty} title="No approvals">A policy that asks for an approval makes one, for the exact action.<//>`}>
    ${(items, reload, fresh) => html`<ul class="plain stack">${items.map((a) => html`<li key=${a.id} class="card ${fresh.has(a) ? 'fresh' : ''}"><div class="row spread"><h2>${a.title || a.action}</h2><${Status} of=${a.state} /></div>
      <p><code>${a.action}</code> asked for by ${a.principalName && `${a.principalName}, `}${reference(a.requestedBy)}, <${Time} at=${a.requestedAt} />${a.state === 'pending' && html`; expires <${Time} at=${a.expiresAt} />`}</p>
      <p class="muted">${a.reasons.join(' · ')} (${a.policies.join(', ')})</p><details><summary>The exact action</summary><${Json} value=${a.payload} label="The exact action" /><p class="muted fine">Bound to the digest <code>${a.digest}</code></p></details>
      ${a.state === 'pending' && may('operations:write') && html`<p class="row"><${Action} primary label="Approve" run=${answer(a.id, 'approve', reload)} /><${Action} label="Reject" run=${answer(a.id, 'reject', reload)} />${a.requestedBy.type === 'user' && a.requestedBy.id === userId() && html`<${Action} label="Withdraw" run=${answer(a.id, 'withdraw', reload)} />`}</p>`}</li>`)}</ul>`}<//>`;
}

const Decisions = () => html`<${Listing} path=${listed('decisions', ['verdict', 'principal'])} filters=${choose('Verdict', 'verdict', ['permitted', 'denied', 'needs-approval'])} none=${html`<${Empty} title="No decisions">Each action that a connector asks for is decided, and appears here.<//>`}>
  ${(items, _, fresh) => html`<${Table} label="Decisions" rows=${items} fresh=${fresh} columns=${[['Verdict', (d) => html`<${Status} of=${d.verdict} />`], ['Action', (d) => html`<code>${d.action}</code>`], ['Asked by', (d) => reference(d.principal)], ['Why', (d) => html`${d.reasons.join(' · ')}<br /><small class="muted">${d.policies.join(', ')}</small>`], ['When', (d) => html`<${Time} at=${d.at} />`]]} />`}<//>`;

function Audit() {
  const named = usePeople();
  return html`<${Listing} path=${listed('audit', ['outcome', 'operation'])} filters=${choose('Outcome', 'outcome', ['success', 'failure', 'denied'])} none=${html`<${Empty} title="No records">Each write is recorded with who asked for it.<//>`}>
    ${(items, _, fresh) => html`<${Table} label="Audit records" rows=${items} fresh=${fresh} columns=${[['When', (r) => html`<${Time} at=${r.at} />`], ['Operation', (r) => html`<code>${r.operation}</code>`], ['On', (r) => r.resource], ['Outcome', (r) => html`<${Status} of=${r.outcome} />`], ['Who', (r) => (r.actor.operator ? `operator ${r.actor.operator}` : r.actor.clientId && !r.actor.userId ? html`<span class="row">${r.actor.executiveId ? 'executive' : 'client'}<${Copy} quiet text=${r.actor.executiveId ?? r.actor.clientId} label="Copy the id" /></span>` : named(r.actor.userId) ?? html`<span class="row">${r.actor.role ?? 'user'}<${Copy} quiet text=${r.actor.userId} label="Copy the id" /></span>`)]]} />`}<//>`;
}

function Usage() {
  const live = useLive('operations/usage');
  const figure = (name, value) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<${Await} of=${live}>${(u) => html`<section class="card"><p>The plan is <strong>${u.plan}</strong>. ${u.limits ? `The hosted service allows ${plural(u.limits.requestsPerSecond, 'request', 'requests')} a second, ${number(u.limits.burst)} at once and ${number(u.limits.requestsPerDay)} a day.` : 'It limits no requests here.'}</p>
    <dl class="figures">${figure('Integrations', `${number(u.holdings.integrations)} of ${number(u.holdings.maxIntegrations)}`)}${figure('Memories', number(u.holdings.memories))}${figure('Goals', number(u.holdings.goals))}${figure('Deliveries that wait', number(u.holdings.waiting))}</dl>
    ${u.sendsFrom && html`<p>Webhooks, syncs, certifications and sign-ins come from ${u.sendsFrom.map((n) => html`<code key=${n}>${n}</code> `)}: allow these addresses in your firewall.</p>`}
    <h2>Size</h2>${u.holdings.warning && html`<p role="status">The ${u.holdings.warning.replace(/^the /, '')}.</p>`}<p>${plural(u.holdings.items, 'record', 'records')} with ${number(u.holdings.bytes / 1e6)} MB${u.holdings.maxBytes ? ` of ${number(u.holdings.maxBytes / 1e6)} MB that the plan includes` : ''}.</p>
    ${u.holdings.records.length > 0 && html`<${Table} label="Records by kind" rows=${u.holdings.records} id=${(r) => r.kind} columns=${[['Kind', (r) => r.kind], ['Records', (r) => number(r.items)], ['MB', (r) => number(r.bytes / 1e6)], ['Oldest', (r) => html`<${Time} at=${r.oldestAt} />`], ['Kept', (r) => (r.keptDays ? plural(r.keptDays, 'day', 'days') : 'until removed')]]} />`}
    <h2>The last 24 hours</h2><p>${u.lastDay.atLeast ? 'At least ' : ''}${plural(u.lastDay.syncs, 'sync', 'syncs')} with ${plural(u.lastDay.syncPages, 'page', 'pages')}, and ${plural(u.lastDay.decisions, 'decision', 'decisions')} of the policies.</p>
    <h2>Delivery attempts</h2>${u.days.length === 0 ? html`<p class="muted">None in the last 30 days.</p>` : html`<${Table} label="Delivery attempts" rows=${[...u.days].reverse()} id=${(d) => d.date} columns=${[['Day (UTC)', (d) => d.date], ['Delivered', (d) => number(d.delivered)], ['Failed', (d) => number(d.failed)]]} />`}
    <p class="muted">As of <${Time} at=${u.asOf} />.</p></section>`}<//>`;
}

const pages = [
  ['reliability', 'Reliability', Reliability, 'operations:read'], ['dead-letters', 'Dead letters', DeadLetters, 'operations:read'], ['approvals', 'Approvals', Approvals, 'operations:read'],
  ['decisions', 'Decisions', Decisions, 'operations:read'], ['policies', 'Policies', Policies, 'operations:read'], ['executives', 'Executives', Executives, 'executives:read'], ['audit', 'Audit', Audit, 'operations:read'], ['notices', 'Notices', Notices, 'operations:read'], ['usage', 'Usage', Usage, 'operations:read'], ['users', 'Users', Users, 'operations:write'], ['clients', 'Clients', Clients, 'executives:write'], ['grants', 'Access', Access, 'operations:write'], ['second-factor', 'Second factor', SecondFactor, 'operations:write'], ['sso', 'Single sign-on', SignOnSettings, 'operations:write'],
  ['channels', 'Channels', Channels, 'operations:write'], ['export', 'Export', Export, 'operations:write'], ['erasure', 'Erasure', Erasure, 'operations:write'],
];

export function Operations({ tab = pages[0][0], id }) {
  const all = pages.filter(([, , , scope]) => may(scope)), chosen = all.find(([id]) => id === tab) ?? all[0];
  return html`<${Head} title="Operations" about="Who may do what, what was decided, and what failed for good.">${chosen && html`<${Curl} path=${{ executives: 'executives', notices: 'notices', channels: 'operations/channels/slack' }[chosen[0]] ?? `operations/${chosen[0]}`} />`}<//>
    ${!chosen && html`<${Empty} title="Nothing to show">This session may see none of these pages.<//>`}
    ${chosen && html`<${Links} kind="tabs" label="Parts of Operations" of=${all.map(([id, name]) => [place(['operations', id]), name, id === chosen[0]])} />
      <${chosen[2]} key=${chosen[0]} id=${id} />`}`;
}
