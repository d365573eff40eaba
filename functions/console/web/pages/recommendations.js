// Module recommendations lists what to do, by priority.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { sentence, words } from '../lib/format.js';
import { forget, usePages } from '../lib/live.js';
import { outcome, runs } from '../lib/outcome.js';
import { remedyLabel, remedyPlace, subjectPlace } from '../lib/places.js';
import { filter, route } from '../lib/route.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Later } from '../ui/later.js';
import { Action, Choice, Curl, Empty, Evidence, Head, Loading, More, Status, Time, Trouble } from '../ui/parts.js';

/** elsewhere lists the rules whose action a person fills in: the place of its form, and the link's text. */
const elsewhere = {
  'connect-source': ['#/connect', 'Choose a source'], 'connect-webhook': ['#/connect/webhook', 'Configure a webhook'],
  'add-founder': ['#/operations/users', 'Invite a founder'], 'date-goals': ['#/goals', 'See the goals'],
};
const scopes = { integrations: 'integrations:write', memory: 'memory:write', executives: 'executives:write' };

/** allowed reports whether the session may send a recommendation's operation from here. */
function allowed(operation) {
  const area = /\/companies\/[^/]+\/([a-z-]+)/.exec(operation?.href ?? '')?.[1];
  return runs(operation) && may(scopes[area] ?? 'operations:write');
}

const states = { claim: 'claimed', dismiss: 'dismissed', reopen: 'active' };

/** decided lists what persons decided about a recommendation. */
const decided = ({ state, dismissal }) => ({ State: state, 'Dismissed because': dismissal?.text });

/** useDone keeps what the last action of a list said, above the list: once that is read again, the action's card may be gone. */
export function useDone(reload) {
  const [said, setSaid] = useState('');
  return [said && html`<p class="note" role="status">${said}</p>`, (text) => { if (text) setSaid(text); reload(); }];
}

/** Suggestion is one recommendation with its evidence and its one action. changed is told what came of the action. */
export function Suggestion({ of, changed, fresh, as = 'h3' }) {
  const about = subjectPlace(of.subject), own = allowed(of.operation), see = `See the ${of.subject?.type}`;
  const [to, label] = of.operation ? [remedyPlace(of.operation), own ? 'Look first' : remedyLabel(of.operation)] : elsewhere[of.rule] ?? [about, see];
  const run = async () => {
    const { body } = await call(of.operation.method, of.operation.href, { body: of.operation.body }), said = outcome(of.operation.operation, body);
    forget('');
    if (said.bad) return said; // a list that is read again would drop it
    changed?.(`${of.title}: ${said} The recommendation ends when its condition does.`);
  };
  const [ask, setAsk] = useState(false), open = of.state === 'active' || of.state === 'claimed', write = may('intelligence:write');
  const path = `intelligence/recommendations/${of.id}`, again = () => { forget(''); changed?.(); };
  const guard = useGuard({ path, data: of, etag: `"${of.version}"`, view: decided, took: again, follow: true });
  const decide = (what, body) => guard.write(decided({ state: states[what], dismissal: body }), (tag) => call('POST', `${path}/${what}`, { body, headers: ifMatch(tag) }), again);
  return html`<article class="card suggestion p-${of.priority} ${fresh ? 'fresh' : ''}">
    <p class="row"><span class="priority">${of.priority}</span>${of.state !== 'active' && html`<${Status} of=${of.state} />`}<small class="muted">since <${Time} at=${of.firstSeenAt} /></small></p>
    <${as}>${of.title}<//><p>${of.rationale}</p>
    <${Evidence} of=${of.evidence} />
    <div class="row foot">${own && html`<${Action} primary label=${remedyLabel(of.operation)} run=${run} />`}
      ${to && html`<a class="button" href=${to}>${label}</a>`}
      ${about && about !== to && !own && html`<a href=${about}>${see}</a>`}<span class="row end">${write && of.state === 'active' && html`<${Action} quiet label="Claim" run=${() => decide('claim')} />`}
      ${write && open && html`<button type="button" class="quiet" onClick=${() => setAsk(true)}>Dismiss…</button>`}
      ${write && of.state === 'dismissed' && html`<${Action} label="Reopen" run=${() => decide('reopen')} />`}</span></div>
    ${of.dismissal && html`<p class="note">Dismissed until <${Time} at=${of.dismissal.until} />: ${of.dismissal.text}</p>`}
    ${ask && html`<${Later} part="Dismiss" run=${(body) => decide('dismiss', body)} close=${() => setAsk(false)} />`}${guard.dialog}
  </article>`;
}

export function Recommendations() {
  const { priority = '', state = '' } = route.value.query;
  const query = new URLSearchParams({ limit: '50', ...(priority && { priority }), ...(state && { state }) });
  const path = `intelligence/recommendations?${query}`, page = usePages(path), [said, changed] = useDone(page.reload);
  return html`<${Head} title="Recommendations" about="What the facts ask for. One ends by itself when its condition does."><${Curl} path=${path} /><//>
    <div class="filters"><${Choice} label="Priority" value=${priority} options=${[['', 'All'], ...['P1', 'P2', 'P3', 'P4'].map((p) => [p, p])]} onPick=${(v) => filter({ priority: v })} />
      <${Choice} label="State" value=${state} options=${[['', 'Open'], ...['active', 'claimed', 'succeeded', 'failed', 'dismissed'].map((s) => [s, sentence(words(s))])]} onPick=${(v) => filter({ state: v })} /></div>
    ${said}<${Trouble} problem=${page.problem} retry=${page.reload} />
    ${page.items.length === 0 && page.loading && html`<${Loading} />`}
    ${page.items.length === 0 && !page.loading && !page.problem && html`<${Empty} title=${priority || state ? 'None match' : 'No recommendations'}>${priority || state
      ? html`<button type="button" class="small" onClick=${() => filter({ priority: '', state: '' })}>Show all open ones</button>` : 'Recommendations appear when a rule finds something to do.'}<//>`}
    <div class="stack">${page.items.map((r) => html`<${Suggestion} key=${r.id} of=${r} fresh=${page.fresh.has(r)} as="h2" changed=${changed} />`)}</div><${More} of=${page} />`;
}
