// Module parts holds the small pieces that every page is made of.
import { html, useEffect, useRef, useState, signal } from '../lib/h.js';
import { age, clock, counted, number, relative, sentence, words } from '../lib/format.js';
import { commandOf, now } from '../lib/api.js';
import { placeOf, remedyLabel, remedyPlace } from '../lib/places.js';
import { times } from '../lib/prefs.js';

/** tick changes every 20 seconds: what reads it is drawn again. */
export const tick = signal(0);
setInterval(() => { if (!document.hidden) tick.value++; }, 20_000);

/** Time shows a time as the person chose; the other forms are in its title. */
export function Time({ at }) {
  if (!at) return html`<span class="muted">–</span>`;
  tick.value;
  const ms = Date.parse(at);
  const text = times.value === 'relative' ? relative(ms, now()) : clock(ms, times.value === 'utc');
  return html`<time dateTime=${at} title=${`${clock(ms, false)} here · ${clock(ms, true)}`}>${text}</time>`;
}

/** Age shows the age of a time, or what is left until it. */
function Age({ at, left }) {
  tick.value;
  const ms = Date.parse(at);
  return html`<time dateTime=${at} title=${`${clock(ms, false)} here · ${clock(ms, true)}`}>${age(ms, now(), left)}</time>`;
}

const tones = {
  pass: 'ok', delivered: 'ok', succeeded: 'ok', certified: 'ok', aligned: 'ok', permitted: 'ok', enabled: 'ok', finished: 'ok', approved: 'ok',
  warn: 'warn', paused: 'warn', scheduled: 'warn', held: 'warn', drifting: 'warn', sandbox: 'warn', expired: 'bad', cancelled: 'warn', suspended: 'bad', waiting: 'warn', 'awaiting-confirmation': 'warn', unhealthy: 'bad', requested: 'info', running: 'info', claimed: 'info', active: 'info',
  success: 'ok', failure: 'bad', 'needs-approval': 'warn', proposed: 'info', done: 'ok', pending: 'warn', fail: 'bad', failed: 'bad', dead: 'bad', misaligned: 'bad', disabled: 'bad', denied: 'bad', rejected: 'bad',
};
const marks = { ok: '✓', warn: '!', bad: '✕', info: '•', none: '–' };

/** health names the state of an integration's health in words. */
export const health = { pass: 'healthy', warn: 'shaky', fail: 'failing' };

/** Status names a state in words, with a mark and a colour. A state that changed is marked for a moment. */
export function Status({ of, label }) {
  const tone = tones[of] ?? 'none', fresh = useFresh(of);
  return html`<span class="status ${tone} ${fresh}"><i aria-hidden="true">${marks[tone]}</i>${sentence(label ?? words(of))}</span>`;
}

/** Copy copies a text. */
export function Copy({ text, label = 'Copy', quiet }) {
  const [done, setDone] = useState('');
  const copy = async () => {
    try { await navigator.clipboard.writeText(text); setDone('Copied'); } catch { setDone('Select the text to copy it'); }
    setTimeout(() => setDone(''), 2000);
  };
  return html`<button type="button" class="small ${quiet ? 'quiet' : ''}" onClick=${copy}><span aria-live="polite">${done || label}</span></button>`;
}

/** Curl copies a request as a command. */
export const Curl = ({ method = 'GET', path, body }) => html`<${Copy} quiet label="Copy as curl" text=${commandOf(method, path, body)} />`;

/** Trouble shows a problem with its request id, and what is wrong in the body. links tells the id and the title of the field
 * that a pointer leads to, or null. */
export function Trouble({ problem, retry, links }) {
  if (!problem) return null;
  const wrong = (e) => {
    const [id, title] = links?.(e.pointer) ?? [];
    return html`${id ? html`<a href=${`#${id}`} onClick=${(click) => { click.preventDefault(); document.getElementById(id)?.focus(); }}>${title}</a>` : html`<code>${e.pointer}</code>`}: ${e.detail}`;
  };
  return html`<div class="trouble" role="alert">
    <strong>${problem.title}</strong>
    ${problem.detail && html`<p>${problem.detail}</p>`}
    ${problem.errors?.length > 0 && html`<ul class="summary">${problem.errors.map((e, i) => html`<li key=${i}>${wrong(e)}</li>`)}</ul>`}
    <p class="row">
      ${retry && html`<button type="button" class="small" onClick=${retry}>Try again</button>`}
      ${problem.requestId && html`<span class="muted">Request <code>${problem.requestId}</code></span><${Copy} quiet text=${problem.requestId} label="Copy the request id" />`}
    </p>
  </div>`;
}

/** Empty says why there is nothing, and offers the next step. */
export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong><div>${children}</div></div>`;

/** Loading stands for what is on its way. */
export const Loading = ({ rows = 3 }) => html`<div class="loading" role="status" aria-label="Loading">${Array.from({ length: rows }, (_, i) => html`<div key=${i}></div>`)}</div>`;

/** Await shows the problem, the wait, or the content of a live answer. Its child gets the body and the entity tag. */
export function Await({ of, children }) {
  if (of.problem && !of.data) return html`<${Trouble} problem=${of.problem} retry=${of.reload} />`;
  if (of.loading || !of.data) return html`<${Loading} />`;
  return html`${of.problem && html`<${Trouble} problem=${of.problem} retry=${of.reload} />`}${children(of.data, of.etag)}`;
}

/** useFresh returns the class fresh for a moment after a value has changed. */
function useFresh(of) {
  const before = useRef(of), [mark, setMark] = useState(false);
  useEffect(() => {
    if (before.current === of) return undefined;
    before.current = of;
    setMark(true);
    const timer = setTimeout(() => setMark(false), 2500);
    return () => clearTimeout(timer);
  }, [of]);
  return mark ? 'fresh' : '';
}

/** Fresh marks its content for a moment when it changes. */
export const Fresh = ({ of, children }) => html`<span class=${useFresh(of)}>${children}</span>`;

/** Head begins a page: its heading, a sentence about it, and its actions. */
export function Head({ title, about, up, children }) {
  useEffect(() => { document.title = `${title} · Mission Control`; }, [title]);
  return html`<header class="head">
    <div>${up && html`<a class="up" href=${up.href}>‹ ${up.text}</a>`}<h1>${title}</h1>${about && html`<p class="muted">${about}</p>`}</div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
}

/** Links is a row of links to places, each with its text and whether it is the current one. On a narrow page the row scrolls,
 * and the current link comes into view. */
export function Links({ label, kind, of }) {
  const ref = useRef(null), at = of.findIndex(([, , here]) => here);
  useEffect(() => { const nav = ref.current, a = nav.children[at]; if (a) nav.scrollLeft = a.offsetLeft - nav.offsetLeft - 40; }, [at]);
  return html`<nav ref=${ref} class=${kind} aria-label=${label}>${of.map(([href, text, here]) => html`<a key=${href} href=${href} aria-current=${here ? 'page' : undefined}>${text}</a>`)}</nav>`;
}

/** Evidence lists the facts behind a statement, with links to where the console shows them. */
export function Evidence({ of }) {
  if (!of?.length) return null;
  return html`<dl class="evidence">${of.map((e, i) => {
    const to = placeOf(e.href);
    const timed = e.at && (!e.unit && !e.value || /^(days|hours|minutes|seconds)( left)?$/.test(e.unit ?? '')); // the time itself says it better
    const value = timed ? html`<${Age} at=${e.at} left=${e.unit?.endsWith(' left')} />` : e.unit === '%' ? `${number(e.value)} %` : e.unit ? counted(e.value, e.unit) : number(e.value);
    return html`<div key=${i}><dt>${sentence(e.name)}</dt><dd>${to ? html`<a href=${to}>${value}</a>` : value}${e.at && !timed && html` <small class="muted"><${Time} at=${e.at} /></small>`}</dd></div>`;
  })}</dl>`;
}

/** Remedy leads to where a problem is fixed. */
export function Remedy({ of, primary }) {
  const to = of && remedyPlace(of);
  return to ? html`<a class="button ${primary ? 'primary' : ''}" href=${to}>${remedyLabel(of)}</a>` : null;
}

/** Json shows a value as indented text. */
export const Json = ({ value, label }) => html`<pre tabindex="0" role="region" aria-label=${label}>${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>`;

/** More loads the next page of a listing. */
export const More = ({ of }) => html`<div class="more">
  ${of.dropped && html`<button type="button" onClick=${of.reload}>Back to the newest</button>`}
  ${of.more && html`<button type="button" disabled=${of.loading} onClick=${of.next}>${of.loading ? 'Loading…' : 'Show more'}</button>`}
</div>`;

/** Choice is a labelled list to choose from. */
export const Choice = ({ label, value, options, onPick }) => html`<label class="choice"><span>${label}</span>
  <select value=${value ?? ''} onChange=${(e) => onPick(e.currentTarget.value)}>${options.map(([v, text]) => html`<option key=${v} value=${v} selected=${v === (value ?? '')}>${text}</option>`)}</select></label>`;

/** Action is a button that runs a write and shows what came of it. run returns a text, or bad news. */
export function Action({ label, run, primary, danger, quiet, done, links }) {
  const [state, setState] = useState({});
  const click = async () => {
    setState({ busy: true });
    try { const said = await run(); setState({ said: said ?? done }); } catch (problem) { setState({ problem }); }
  };
  return html`<span class="action"><button type="button" class="${primary ? 'primary' : ''} ${danger ? 'danger' : ''} ${quiet ? 'quiet' : ''}" aria-busy=${state.busy || undefined} disabled=${state.busy} onClick=${click}>${state.busy ? `${label}…` : label}</button>
    <span class="said ${state.said?.bad ? 'poor' : ''}" aria-live="polite">${state.said?.bad ?? state.said ?? ''}</span>${state.problem && html`<${Trouble} problem=${state.problem} links=${links} />`}</span>`;
}
