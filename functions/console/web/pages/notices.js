// Module notices shows what people were told, and what one wants to be told oneself, or lets others be told by default.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { sentence, words } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { filter, route } from '../lib/route.js';
import { ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Choice, Empty, Json, Status, Time } from '../ui/parts.js';
import { Listing, usePeople } from './listing.js';

const own = 'notices/preferences';
const tone = { waiting: 'waiting', sent: 'delivered', failed: 'failed', omitted: 'unknown' };

/** Notices lists what was sent to whom about what, with its text. */
export function Notices() {
  const named = usePeople(), { state = '', kind = '' } = route.value.query;
  const path = `notices?${new URLSearchParams({ limit: '50', ...(state && { state }), ...(kind && { kind }) })}`;
  const pick = (label, name, value, values) => html`<${Choice} label=${label} value=${value} options=${[['', 'All'], ...values.map((v) => [v, sentence(v)])]} onPick=${(v) => filter({ [name]: v })} />`;
  return html`<${Listing} path=${path} none=${html`<${Empty} title="No notices">A person is told of an invitation, an approval to decide, or what does not work any more. Notices are kept for 90 days.<//>`}
    filters=${html`${pick('State', 'state', state, ['waiting', 'sent', 'failed', 'omitted'])}${pick('Kind', 'kind', kind, ['security', 'approval', 'alert', 'brief'])}`}>
    ${(items) => html`<ul class="plain stack">${items.map((n) => html`<li key=${n.id} class="card"><div class="row spread"><h2>${n.subject}</h2><${Status} of=${tone[n.state]} label=${n.state} /></div>
      <p class="muted">By ${n.channel} to ${named(n.userId) ?? n.userId ?? 'the company'}, ${n.sentAt ? html`<${Time} at=${n.sentAt} />` : html`due <${Time} at=${n.dueAt} />`}. ${n.why}</p>
      ${n.reason && html`<p class=${n.state === 'failed' ? 'wrong' : 'muted'}>${sentence(n.reason)}</p>`}${n.text && html`<details><summary>The text</summary><${Json} value=${n.text} label="The text of ${n.subject}" /></details>`}</li>`)}</ul>`}<//>`;
}

const about = { security: 'The own access. Always by mail.', approval: 'Approvals that the person may decide. At least one way.', alert: 'What does not work any more.' };
const offers = { security: ['mail'], approval: ['mail', 'slack'], alert: ['mail', 'slack'] }, labels = { mail: 'By mail', slack: 'In the company\'s Slack channel' };
const week = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const view = (p) => ({
  'Time zone': p.timeZone, 'Quiet hours': p.quiet ? `${p.quiet.from} to ${p.quiet.to}` : 'none', 'The brief': p.brief ? `${p.brief.at}, ${p.brief.days.join(', ')}` : 'none', ...p.channels,
});

/** Preferences lets a person choose what they are told, when and how, or what people are told who have chosen nothing. */
export function Preferences({ path = own, title = 'Notices', children }) {
  const live = useLive(path, { poll: false });
  const follow = async () => { await call('DELETE', path); live.reload(); return 'The company\'s defaults count for you.'; };
  return html`<section class="card narrow"><h2>${title}</h2>${children}<${Await} of=${live}>${(p, etag) => html`<${Guarded} key=${etag} path=${path} of=${p} etag=${etag} took=${live.reload} />`}<//>
    ${path === own && html`<p><${Action} quiet label="Follow the company's defaults" run=${follow} /></p>`}</section>`;
}

function Guarded({ path, of, etag, took }) {
  const guard = useGuard({ path, data: of, etag, view, took });
  return html`<${Form} key=${guard.turn} path=${path} guard=${guard} />${guard.dialog}`;
}

const Time24 = ({ id, label, value, put }) => html`<div class="field"><label for=${id}>${label} <small class="muted">optional</small></label><input id=${id} type="time" value=${value ?? ''} onInput=${(e) => put(e.currentTarget.value)} /></div>`;

function Ways({ kind, of, offered, put }) {
  return html`<div class="choices">${offered.map((way) => html`<label key=${way}><input type="checkbox" disabled=${kind === 'security'} checked=${of.includes(way)} onChange=${() => put(toggled(of, way))} /> ${labels[way]}</label>`)}</div>`;
}

const toggled = (list, one) => (list.includes(one) ? list.filter((v) => v !== one) : [...list, one]);

/** Brief chooses when the brief comes. */
function Brief({ p, set }) {
  const of = p.brief, put = (change) => set({ brief: { ...of, ...change } });
  return html`<fieldset><legend>Brief</legend><p class="muted fine">What has changed, and what needs attention. It comes only if something has changed.</p>
    <${Time24} id="brief-at" label="Brief at" value=${of?.at} put=${(at) => set({ brief: at ? { days: week.slice(0, 5), ...of, at } : undefined })} />
    ${of && html`<div class="choices">${week.map((day) => html`<label key=${day}><input type="checkbox" checked=${of.days.includes(day)} onChange=${() => put({ days: week.filter((d) => (d === day) !== of.days.includes(d)) })} /> ${sentence(day)}</label>`)}</div>
      <${Ways} of=${p.channels.brief ?? ['mail']} offered=${['mail']} put=${(brief) => set({ channels: { ...p.channels, brief } })} />`}</fieldset>`;
}

function Form({ path, guard }) {
  const [p, setP] = useState(guard.data), set = (change) => setP((all) => ({ ...all, ...change }));
  const quiet = (change) => { const { from = '', to = '' } = { ...p.quiet, ...change }; set({ quiet: from || to ? { from, to } : undefined }); };
  const links = (pointer) => ({ '/timeZone': ['zone', 'Time zone'], '/quiet/from': ['quiet-from', 'Quiet from'], '/quiet/to': ['quiet-to', 'Quiet until'], '/brief/days': ['brief-at', 'Brief at'] })[pointer];
  const store = () => guard.write(view(p), (tag) => call('PUT', path, { body: p, headers: ifMatch(tag) }), () => { forget(path); return 'Stored.'; });
  return html`<div class="stack"><div class="field"><label for="zone">Time zone</label><input id="zone" list="zones" autocomplete="off" spellcheck=${false} value=${p.timeZone} onInput=${(e) => set({ timeZone: e.currentTarget.value })} /><datalist id="zones">${Intl.supportedValuesOf('timeZone').map((z) => html`<option key=${z} value=${z}></option>`)}</datalist></div>
    <div class="row"><${Time24} id="quiet-from" label="Quiet from" value=${p.quiet?.from} put=${(from) => quiet({ from })} /><${Time24} id="quiet-to" label="Quiet until" value=${p.quiet?.to} put=${(to) => quiet({ to })} /></div>
    <p class="muted fine">In quiet hours a notice waits for their end, except about the own access, an erasure, and an approval of which half the time is over.</p>
    ${Object.entries(offers).map(([kind, offered]) => html`<fieldset key=${kind}><legend>${sentence(words(kind))}</legend><p class="muted fine">${about[kind]}</p><${Ways} kind=${kind} of=${p.channels[kind]} offered=${offered} put=${(ways) => set({ channels: { ...p.channels, [kind]: ways } })} /></fieldset>`)}
    ${may('intelligence:read') && html`<${Brief} p=${p} set=${set} />`}
    <p><${Action} primary label="Store" run=${store} links=${links} /></p></div>`;
}
