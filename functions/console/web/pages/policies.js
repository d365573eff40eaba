// Module policies shows the company's Cedar policies, tries them on an action, and stores them.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { bad } from '../lib/outcome.js';
import { Confirm } from '../ui/dialog.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Choice, Json, Status, Time, Trouble } from '../ui/parts.js';

const path = 'operations/policies', actions = { 'memory.upsert': 'memory', 'goal.update': 'goal', 'timeline.note': 'timeline' };

/** listed lists policies by their names. */
const listed = ({ policies }) => Object.fromEntries(policies.map((p) => [p.id, `${p.mode}\n${p.text}`]));

/** Policies shows the company's policies and those of the service. */
export function Policies() {
  const live = useLive(path, { poll: false });
  return html`<${Await} of=${live}>${(p, etag) => html`<${Guarded} of=${p} etag=${etag} />
    <h2>Policies of the service, for every company</h2>${p.defaults.map((d) => html`<section key=${d.id} class="card"><p class="row"><strong>${d.id}</strong><span class="muted">${d.mode}</span></p><${Json} value=${d.text} label=${d.id} /></section>`)}`}<//>`;
}

function Guarded({ of, etag }) {
  const guard = useGuard({ path, data: of, etag, view: listed });
  return html`<${Editor} key=${guard.turn} of=${guard.data} guard=${guard} />${guard.dialog}`;
}

function Editor({ of, guard }) {
  const [all, setAll] = useState(of.policies), [problem, setProblem] = useState(null), [ask, setAsk] = useState(false), write = may('operations:write');
  const links = (pointer) => { const i = /^\/policies\/(\d+)/.exec(pointer)?.[1]; return all[i] ? [`policy-text-${i}`, all[i].id] : null; };
  const gone = of.policies.filter((p) => !all.some((q) => q.id === p.id)).map((p) => p.id);
  const change = (i, what) => setAll(all.map((p, n) => (n === i ? { ...p, ...what } : p)));
  const save = async (sure) => {
    setProblem(null);
    if (gone.length && sure !== gone) { setAsk(true); return ''; }
    const put = (etag) => call('PUT', path, { body: { policies: all }, headers: ifMatch(etag) });
    try {
      return await guard.write(listed({ policies: all }), put, ({ body }) => { forget(path); return body.approval ? 'Not stored yet: another person has to approve it, under Operations, Approvals.' : 'Stored. They decide everywhere within two seconds.'; });
    } catch (p) { setProblem(p); return bad('Not stored.'); }
  };
  return html`<section class="card"><h2>Policies of the company</h2><p class="muted">${of.version ? html`Version ${of.version}, stored <${Time} at=${of.updatedAt} />` : 'None stored yet: the policies of the service alone decide.'}</p>
    ${all.map((p, i) => html`<div key=${i} class="stack policy"><div class="filters"><label class="choice"><span>Name</span><input value=${p.id} readonly=${!write} onInput=${(e) => change(i, { id: e.currentTarget.value })} /></label>
      <${Choice} label="Mode" value=${p.mode} options=${[['log-only', 'Log only'], ['enforce', 'Enforce']]} onPick=${(mode) => change(i, { mode })} />${write && html`<button type="button" class="quiet" onClick=${() => setAll(all.filter((_, n) => n !== i))}>Remove</button>`}</div>
      <label class="field"><span class="unseen">Text of ${p.id}</span><textarea id=${`policy-text-${i}`} rows="4" class="code" spellcheck=${false} readonly=${!write} value=${p.text} onInput=${(e) => change(i, { text: e.currentTarget.value })}></textarea></label></div>`)}
    <${Trouble} problem=${problem} links=${links} />
    ${write && html`<p class="row"><button type="button" onClick=${() => setAll([...all, { id: `policy-${all.length + 1}`, mode: 'log-only', text: 'forbid (principal, action == Action::"goal.update", resource);' }])}>Add a policy</button><${Action} primary label="Store" run=${() => save()} /></p>`}</section>
    ${ask && html`<${Confirm} title="Store without ${gone.join(', ')}" name=${gone[0]} label="Store" close=${() => setAsk(false)} run=${() => save(gone)} consequences=${gone.map((id) => `The policy ${id} is deleted. From then on it decides nothing.`)} />`}
    ${write && html`<${Trial} policies=${all} />`}`;
}

/** Trial decides on an action with the policies as they stand on the page. It changes nothing. */
function Trial({ policies }) {
  const [action, setAction] = useState('goal.update'), [provider, setProvider] = useState('github'), [answer, setAnswer] = useState(null);
  const run = async () => {
    setAnswer((await call('POST', `${path}/test`, { body: { principal: { type: 'integration', id: provider }, action, resource: { type: actions[action] }, policies } })).body);
  };
  return html`<section class="card"><h2>Try the policies</h2><p class="muted">What would happen now, with the policies above. Nothing is stored.</p>
    <div class="filters"><label class="choice"><span>Integration</span><input value=${provider} onInput=${(e) => setProvider(e.currentTarget.value)} /></label><${Choice} label="asks for the action" value=${action} options=${Object.keys(actions).map((a) => [a, a])} onPick=${setAction} /><${Action} label="Try" run=${run} /></div>
    ${answer && html`<p class="row" role="status"><${Status} of=${answer.verdict} /><span>${answer.reasons.join(' · ')}</span><span class="muted">${answer.policies.join(', ')}</span></p>`}</section>`;
}
