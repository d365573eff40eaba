// Module mapping shows how arrivals become actions, next to an arrival that was received.
import { html, useRef, useState } from '../lib/h.js';
import { Problem, call, may, session } from '../lib/api.js';
import { textOf } from '../lib/compare.js';
import { plural, words } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm } from '../ui/dialog.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Empty, Json, Status, Time, Trouble } from '../ui/parts.js';

/** Mapping edits the mapping of an integration, and tries it on an arrival. */
export function Mapping({ path }) {
  const live = useLive(`${path}/mapping`, { poll: false }), inbox = useLive(`${path}/inbox`), [picked, setChosen] = useState(null), [resets, setResets] = useState(0);
  const reset = async () => { await live.reload(); setResets(resets + 1); };
  const first = useRef(null);
  first.current ??= inbox.data?.items[0]?.id; // the newest when the page opened; a later one does not replace it
  const chosen = picked ?? first.current;
  return html`<${Await} of=${live}>${(m, etag) => html`<div class="grid two">
    <section class="card"><h2>Received</h2><p class="muted">The last 20 arrivals of 7 days, while the integration was in the sandbox.</p>
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
  <ol class="plain checks">${of.actions.map((a, i) => html`<li key=${i}><span class="row"><${Status} of=${a.verdict} /><code>${a.action}</code><span class="muted">rule ${a.rule + 1}${a.outcome ? `, ${words(a.outcome)}` : ''}</span></span><span class="reason muted">${a.reasons.join(' · ')}</span>
    ${a.fields && html`<dl class="facts">${Object.entries(a.fields).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${textOf(value)}</dd></div>`)}</dl>`}</li>`)}</ol></div>`;

/** Tests lists what became of a mapping's tests. */
const Tests = ({ of }) => html`<div role="status"><h3>Tests</h3><ol class="plain checks">${of.map((t, i) => html`<li key=${i}><span class="row"><${Status} of=${t.passed ? 'pass' : 'fail'} />${t.name}</span>
  ${t.problems.map((p) => html`<span key=${p.pointer} class="reason muted"><code>${p.pointer}</code> ${p.detail}</span>`)}</li>`)}</ol></div>`;

/** asTest makes a test of an arrival and of the actions that the mapping gives for it. */
const asTest = (of, { headers, payload }, actions) => ({ name: `arrival ${(of.tests?.length ?? 0) + 1}`, ...(headers && { headers }), payload, actions: actions.map(({ action, fields }) => ({ action, fields })) });

/** drafts keeps what was typed and not stored, by the address of the mapping, while the person is logged in. */
const drafts = new Map();
session.subscribe((s) => { if (!s) drafts.clear(); });

/** hasTests tells whether a mapping that is being written has tests. */
const hasTests = (text) => { try { return JSON.parse(text).tests?.length > 0; } catch { return false; } };

/** pairs reads lines such as Name: value. */
const pairs = (lines) => Object.fromEntries(lines.split('\n').filter((l) => l.includes(':')).map((l) => [l.slice(0, l.indexOf(':')).trim(), l.slice(l.indexOf(':') + 1).trim()]));

/** ruled lists the parts of a mapping by their titles. */
const ruled = ({ mapping }) => {
  const { rules, only, otherwise, tests } = mapping ?? {};
  return { Only: only, ...Object.fromEntries((Array.isArray(rules) ? rules : []).map((r, i) => [`Rule ${i + 1}`, r])), Otherwise: otherwise, ...Object.fromEntries((Array.isArray(tests) ? tests : []).map((t, i) => [`Test ${i + 1}`, t])) };
};

/** Guarded goes on with the draft of this tab, if there is one, at the version that the draft began with. */
function Guarded({ of, etag, ...props }) {
  const path = `${props.path}/mapping`, draft = drafts.get(path), guard = useGuard({ path, data: draft?.data ?? of, etag: draft?.etag ?? etag, view: ruled, took: () => drafts.delete(path) });
  return html`<div><${Editor} key=${guard.turn} of=${guard.data} guard=${guard} ...${props} />${guard.dialog}</div>`;
}

function Editor({ of, path, chosen, guard, wasReset }) {
  const at = `${path}/mapping`, draft = drafts.get(at), [text, setText] = useState(draft?.text ?? JSON.stringify(of.mapping, null, 2)), [pasted, setPasted] = useState(draft?.pasted ?? ''), [headers, setHeaders] = useState(draft?.headers ?? ''), [answer, setAnswer] = useState(null), [problem, setProblem] = useState(null);
  const allowed = may('integrations:write'), [ask, setAsk] = useState(false), provider = decodeURIComponent(path.split('/')[1]);
  const keep = (change) => drafts.set(at, { data: guard.data, etag: guard.etag, text, pasted, headers, ...change });
  const attempt = (run) => async () => {
    setProblem(null);
    setAnswer(null);
    let mapping;
    try { mapping = JSON.parse(text); } catch (err) { setProblem({ title: 'This is not JSON', detail: err.message, errors: [] }); return ''; }
    try { return await run(mapping); } catch (p) { setProblem(p); return ''; }
  };
  const tried = () => {
    if (!pasted.trim()) return { inboxId: chosen };
    try { return { payload: JSON.parse(pasted), headers: pairs(headers) }; } catch (err) { throw new Problem({ title: 'The pasted body is not JSON', detail: err.message }); }
  };
  const preview = attempt(async (mapping) => {
    const arrival = tried();
    setAnswer({ ...(await call('POST', `${path}/mapping/preview`, { body: { mapping, ...arrival } })).body, arrival });
    return '';
  });
  const test = attempt(async (mapping) => {
    setAnswer((await call('POST', `${path}/mapping/preview`, { body: { mapping } })).body);
    return '';
  });
  const write = (changed) => { setText(changed); keep({ text: changed }); };
  const keepTest = attempt(async (mapping) => {
    let { arrival } = answer;
    if (arrival.inboxId) {
      const { headers, body } = (await call('GET', `${path}/inbox/${arrival.inboxId}`)).body;
      arrival = { headers, payload: JSON.parse(body) };
    }
    write(JSON.stringify({ ...mapping, tests: [...(mapping.tests ?? []), asTest(mapping, arrival, answer.actions)] }, null, 2));
    return 'Added to the draft; name it, leave only the fields that matter, and store it.';
  });
  const store = attempt(async (mapping) => {
    const put = (etag) => call('PUT', `${path}/mapping`, { body: mapping, headers: ifMatch(etag) });
    return guard.write(ruled({ mapping }), put, () => { forget(at); drafts.delete(at); return 'Stored.'; });
  });
  const drop = () => { drafts.delete(at); wasReset(); };
  const reset = () => guard.write({ Mapping: 'the default of the provider' }, (etag) => call('DELETE', `${path}/mapping`, { headers: ifMatch(etag) }), drop);
  return html`<section class="card"><h2>Mapping</h2><p class="muted">${of.source === 'company' ? html`Stored by the company, <${Time} at=${of.updatedAt} />.` : 'The default of the provider.'} The first rule that matches decides.</p>
    <label class="field"><span class="unseen">Mapping as JSON</span><textarea id="mapping" class="code" rows="22" spellcheck=${false} readonly=${!allowed} value=${text} onInput=${(e) => write(e.currentTarget.value)}></textarea></label>
    ${allowed && html`<details open=${Boolean(pasted)}><summary>Try it on a body of your own</summary><div class="stack inside"><label class="field"><span>Body, JSON</span><textarea id="pasted" class="code" rows="6" spellcheck=${false} value=${pasted} onInput=${(e) => { setPasted(e.currentTarget.value); keep({ pasted: e.currentTarget.value }); }}></textarea></label>
      <label class="field"><span>Headers <small class="muted">optional, one in each line</small></span><textarea rows="2" spellcheck=${false} placeholder="X-GitHub-Event: issues" value=${headers} onInput=${(e) => { setHeaders(e.currentTarget.value); keep({ headers: e.currentTarget.value }); }}></textarea></label></div></details>`}
    ${draft && html`<p class="note">This is your draft. It is kept while this tab is open, and not stored. <button type="button" class="small" onClick=${drop}>Drop it</button></p>`}
    <${Trouble} problem=${problem} links=${(pointer) => ['mapping', pointer]} />
    ${allowed && html`<p class="row">${pasted.trim() ? html`<${Action} label="Try on the pasted body" run=${preview} />` : chosen ? html`<${Action} label="Try on the chosen arrival" run=${preview} />` : html`<span class="muted">Choose an arrival or paste a body to try the mapping on.</span>`}${hasTests(text) && html`<${Action} label="Run its tests" run=${test} />`}<${Action} primary label="Store" run=${store} />${of.source === 'company' && html`<button type="button" class="danger" onClick=${() => setAsk(true)}>Return to the default</button>`}</p>`}
    ${answer && (answer.arrival || answer.actions.length > 0) && html`<${Result} of=${answer} />${allowed && !answer.problem && html`<p><${Action} label="Keep as a test" run=${keepTest} /></p>`}`}
    ${answer?.tests?.length > 0 && html`<${Tests} of=${answer.tests} />`}
    ${ask && html`<${Confirm} title="Return to the default mapping" name=${provider} label="Return" close=${() => setAsk(false)} run=${reset} consequences=${['The mapping of the company is deleted.', 'The default of the provider decides from the next arrival on.']} />`}</section>`;
}
