// Module mapping shows how deliveries that come in become actions, next to a delivery that was received.
import { html, useRef, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { plural, words } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm } from '../ui/dialog.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Empty, Json, Status, Time, Trouble } from '../ui/parts.js';

/** Mapping edits the mapping of an integration, and tries it on a received delivery. */
export function Mapping({ path }) {
  const live = useLive(`${path}/mapping`, { poll: false }), inbox = useLive(`${path}/inbox`), [picked, setChosen] = useState(null), [resets, setResets] = useState(0);
  const reset = async () => { await live.reload(); setResets(resets + 1); };
  const first = useRef(null);
  first.current ??= inbox.data?.items[0]?.id; // the newest when the page opened; a later one does not replace it
  const chosen = picked ?? first.current;
  return html`<${Await} of=${live}>${(m, etag) => html`<div class="grid two">
    <section class="card"><h2>Received</h2><p class="muted">The last 20 deliveries of 7 days that came in while the integration was in the sandbox.</p>
      <${Await} of=${inbox}>${({ items }) => (items.length === 0 ? html`<${Empty} title="None received">In the sandbox, what comes in is kept here and takes no effect.<//>`
        : html`<ul class="plain found">${items.map((r) => html`<li key=${r.id} class="row spread"><button type="button" class="quiet" aria-pressed=${chosen === r.id} onClick=${() => setChosen(r.id)}><${Time} at=${r.receivedAt} /></button><span class="muted">${r.problem ?? `${plural(r.actions, 'action')}, ${r.permitted} permitted`}</span></li>`)}</ul>`)}<//>
      ${chosen && html`<${Received} key=${chosen} path=${`${path}/inbox/${chosen}`} />`}</section>
    <${Guarded} key=${resets} of=${m} etag=${etag} path=${path} chosen=${chosen} wasReset=${reset} /></div>`}<//>`;
}

function Received({ path }) {
  const live = useLive(path, { poll: false });
  return html`<${Await} of=${live}>${(r) => html`<${Json} value=${r.headers} label="Headers" /><${Json} value=${pretty(r.body)} label="Body" /><${Result} of=${r.result} />`}<//>`;
}

const pretty = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };

/** Result lists the actions that a mapping gives, each with its verdict. */
const Result = ({ of }) => html`<div role="status">${of.problem && html`<p class="wrong">${of.problem.detail ?? of.problem}</p>`}
  ${of.actions.length === 0 && !of.problem && html`<p class="muted">The mapping gives no action.</p>`}
  <ol class="plain checks">${of.actions.map((a, i) => html`<li key=${i}><span class="row"><${Status} of=${a.verdict} /><code>${a.action}</code><span class="muted">rule ${a.rule + 1}${a.outcome ? `, ${words(a.outcome)}` : ''}</span></span><span class="reason muted">${a.reasons.join(' · ')}</span></li>`)}</ol></div>`;

/** ruled lists the parts of a mapping by their titles. */
const ruled = ({ mapping }) => {
  const { rules, only, otherwise } = mapping ?? {};
  return { Only: only, ...Object.fromEntries((Array.isArray(rules) ? rules : []).map((r, i) => [`Rule ${i + 1}`, r])), Otherwise: otherwise };
};

function Guarded({ of, etag, ...props }) {
  const guard = useGuard({ path: `${props.path}/mapping`, data: of, etag, view: ruled });
  return html`<div><${Editor} key=${guard.turn} of=${guard.data} guard=${guard} ...${props} />${guard.dialog}</div>`;
}

function Editor({ of, path, chosen, guard, wasReset }) {
  const [text, setText] = useState(JSON.stringify(of.mapping, null, 2)), [answer, setAnswer] = useState(null), [problem, setProblem] = useState(null);
  const write = may('integrations:write'), [ask, setAsk] = useState(false), provider = decodeURIComponent(path.split('/')[1]);
  const attempt = (run) => async () => {
    setProblem(null);
    setAnswer(null);
    let mapping;
    try { mapping = JSON.parse(text); } catch (err) { setProblem({ title: 'This is not JSON', detail: err.message, errors: [] }); return ''; }
    try { return await run(mapping); } catch (p) { setProblem(p); return ''; }
  };
  const preview = attempt(async (mapping) => {
    setAnswer((await call('POST', `${path}/mapping/preview`, { body: { mapping, inboxId: chosen } })).body);
    return '';
  });
  const store = attempt(async (mapping) => {
    const put = (etag) => call('PUT', `${path}/mapping`, { body: mapping, headers: ifMatch(etag) });
    return guard.write(ruled({ mapping }), put, () => { forget(`${path}/mapping`); return 'Stored.'; });
  });
  const reset = () => guard.write({ Mapping: 'the default of the provider' }, (etag) => call('DELETE', `${path}/mapping`, { headers: ifMatch(etag) }), wasReset);
  return html`<section class="card"><h2>Mapping</h2><p class="muted">${of.source === 'company' ? html`Stored by the company, <${Time} at=${of.updatedAt} />.` : 'The default of the provider.'} The first rule that matches decides.</p>
    <label class="field"><span class="unseen">Mapping as JSON</span><textarea id="mapping" class="code" rows="22" spellcheck=${false} readonly=${!write} value=${text} onInput=${(e) => setText(e.currentTarget.value)}></textarea></label>
    <${Trouble} problem=${problem} links=${(pointer) => ['mapping', pointer]} />
    ${write && html`<p class="row">${chosen ? html`<${Action} label="Try on the chosen delivery" run=${preview} />` : html`<span class="muted">Choose a delivery to try the mapping on.</span>`}<${Action} primary label="Store" run=${store} />${of.source === 'company' && html`<button type="button" class="danger" onClick=${() => setAsk(true)}>Return to the default</button>`}</p>`}
    ${answer && html`<${Result} of=${answer} />`}
    ${ask && html`<${Confirm} title="Return to the default mapping" name=${provider} label="Return" close=${() => setAsk(false)} run=${reset} consequences=${['The mapping of the company is deleted.', 'The default of the provider decides from the next delivery on.']} />`}</section>`;
}
