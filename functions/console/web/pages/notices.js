// Module notices shows what people were told, and what one wants to be told oneself.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { sentence, words } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { filter, route } from '../lib/route.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Choice, Empty, Json, Status, Time } from '../ui/parts.js';
import { Listing, usePeople } from './listing.js';

const tone = { waiting: 'waiting', sent: 'delivered', failed: 'failed', omitted: 'unknown' };

/** Notices lists what was sent to whom about what, with its text. */
export function Notices() {
  const named = usePeople(), { state = '', kind = '' } = route.value.query;
  const path = `notices?${new URLSearchParams({ limit: '50', ...(state && { state }), ...(kind && { kind }) })}`;
  const pick = (label, name, value, values) => html`<${Choice} label=${label} value=${value} options=${[['', 'All'], ...values.map((v) => [v, sentence(v)])]} onPick=${(v) => filter({ [name]: v })} />`;
  return html`<${Listing} path=${path} none=${html`<${Empty} title="No notices">A person is told of an invitation, an approval to decide, or what does not work any more. Notices are kept for 90 days.<//>`}
    filters=${html`${pick('State', 'state', state, ['waiting', 'sent', 'failed', 'omitted'])}${pick('Kind', 'kind', kind, ['security', 'approval', 'alert'])}`}>
    ${(items) => html`<ul class="plain stack">${items.map((n) => html`<li key=${n.id} class="card"><div class="row spread"><h2>${n.subject}</h2><${Status} of=${tone[n.state]} label=${n.state} /></div>
      <p class="muted">By ${n.channel} to ${named(n.userId) ?? n.to ?? n.userId ?? 'the company'}, ${n.sentAt ? html`<${Time} at=${n.sentAt} />` : html`due <${Time} at=${n.dueAt} />`}. ${n.why}</p>
      ${n.error && html`<p class="wrong">${sentence(n.error)}</p>`}${n.text && html`<details><summary>The text</summary><${Json} value=${n.text} label="The text of ${n.subject}" /></details>`}</li>`)}</ul>`}<//>`;
}

const path = 'notices/preferences';
const about = { security: 'Your own access. Always by mail.', approval: 'Approvals that you may decide. At least one way.', alert: 'What does not work any more.' };
const view = (p) => ({ 'Time zone': p.timeZone, 'Quiet hours': p.quiet ? `${p.quiet.from} to ${p.quiet.to}` : 'none', ...p.channels });

/** Preferences lets a person choose what they are told, when and how. */
export function Preferences() {
  const live = useLive(path, { poll: false });
  return html`<section class="card narrow"><h2>Notices</h2><${Await} of=${live}>${(p, etag) => html`<${Guarded} of=${p} etag=${etag} took=${live.reload} />`}<//></section>`;
}

function Guarded({ of, etag, took }) {
  const guard = useGuard({ path, data: of, etag, view, took });
  return html`<${Form} key=${guard.turn} guard=${guard} />${guard.dialog}`;
}

function Form({ guard }) {
  const [p, setP] = useState(guard.data), set = (change) => setP((all) => ({ ...all, ...change }));
  const toggled = (list, one) => (list.includes(one) ? list.filter((v) => v !== one) : [...list, one]);
  const time = (id, label, value, put) => html`<div class="field"><label for=${id}>${label} <small class="muted">optional</small></label><input id=${id} type="time" value=${value ?? ''} onInput=${(e) => put(e.currentTarget.value)} /></div>`;
  const quiet = (change) => { const { from = '', to = '' } = { ...p.quiet, ...change }; set({ quiet: from || to ? { from, to } : undefined }); };
  const links = (pointer) => ({ '/timeZone': ['zone', 'Time zone'], '/quiet/from': ['quiet-from', 'Quiet from'], '/quiet/to': ['quiet-to', 'Quiet until'] })[pointer];
  const store = () => guard.write(view(p), (tag) => call('PUT', path, { body: p, headers: ifMatch(tag) }), () => { forget(path); return 'Stored.'; });
  return html`<div class="stack"><div class="field"><label for="zone">Time zone</label><input id="zone" list="zones" autocomplete="off" spellcheck=${false} value=${p.timeZone} onInput=${(e) => set({ timeZone: e.currentTarget.value })} /><datalist id="zones">${Intl.supportedValuesOf('timeZone').map((z) => html`<option key=${z} value=${z}></option>`)}</datalist></div>
    <div class="row">${time('quiet-from', 'Quiet from', p.quiet?.from, (from) => quiet({ from }))}${time('quiet-to', 'Quiet until', p.quiet?.to, (to) => quiet({ to }))}</div>
    <p class="muted fine">In quiet hours a notice waits for their end, except about your own access and about what soon expires.</p>
    ${Object.entries(p.channels).map(([kind, ways]) => html`<fieldset key=${kind}><legend>${sentence(words(kind))}</legend><p class="muted fine">${about[kind]}</p><div class="choices">${[...new Set(['mail', ...ways])].map((way) => html`<label key=${way}><input type="checkbox" disabled=${kind === 'security'} checked=${ways.includes(way)} onChange=${() => set({ channels: { ...p.channels, [kind]: toggled(ways, way) } })} /> By ${way}</label>`)}</div></fieldset>`)}
    <p><${Action} primary label="Store" run=${store} links=${links} /></p></div>`;
}
