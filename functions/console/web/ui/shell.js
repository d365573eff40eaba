// Module shell is the frame of every page: navigation, keys, the command palette and the preferences.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/h.js';
import { change, logOut, may, now, session, userEmail } from '../lib/api.js';
import { plural } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { theme, times } from '../lib/prefs.js';
import { go, route } from '../lib/route.js';
import { Choice, Links, Trouble } from './parts.js';
import { Dialog } from './dialog.js';

/** sections lists the pages of the navigation: place, name, key after g, the scope that it needs. */
export const sections = [
  ['today', 'Today', 't', 'mission-control:read'], ['health', 'Health', 'h', 'mission-control:read'], ['recommendations', 'Recommendations', 'r', 'intelligence:read'],
  ['timeline', 'Timeline', 'l', 'mission-control:read'], ['integrations', 'Integrations', 'i', 'integrations:read'], ['deliveries', 'Deliveries', 'd', 'integrations:read'],
  ['memory', 'Memory', 'm', 'memory:read'], ['goals', 'Goals', 'o', 'memory:read'],
  ['operations', 'Operations', 'p', 'operations:read'], ['operations/approvals', 'Approvals', 'a', 'operations:read'],
];

const shown = () => sections.filter(([, , , scope]) => may(scope));
const parents = { connect: 'integrations', connected: 'integrations', events: 'integrations', syncs: 'memory' };

/** sectionOf returns the section of a place, or the first section that the scopes allow for a place without a name. */
export const sectionOf = (head) => (head ? sections.find(([id]) => id === (parents[head] ?? head)) : shown()[0]) ?? [];

const typing = (e) => e.target.closest?.('input, textarea, select, [contenteditable]') || document.querySelector('dialog[open]');

/** useKeys follows the shortcuts: g and a letter, ? and Control-K. */
function useKeys(open) {
  useEffect(() => {
    let pending = 0;
    const press = (e) => {
      if ((e.ctrlKey || e.metaKey) && e.key === 'k') { e.preventDefault(); if (!document.querySelector('dialog[open]')) open('palette'); return; }
      if (e.ctrlKey || e.metaKey || e.altKey || typing(e)) return;
      if (e.key === '?') { e.preventDefault(); open('keys'); return; }
      if (e.key === '/') { const first = document.querySelector('.filters input, .filters select'); if (first) { e.preventDefault(); first.focus(); } return; }
      const to = Date.now() - pending < 1500 && shown().find(([, , key]) => key === e.key);
      pending = e.key === 'g' ? Date.now() : 0;
      if (to) go(`#/${to[0]}`);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

export function Shell({ children }) {
  const [dialog, setDialog] = useState(null), close = () => setDialog(null);
  const context = useLive(may('intelligence:read') ? 'intelligence/context' : null);
  const [section] = sectionOf(route.value.path[0]), [, part] = route.value.path, here = part === 'approvals' ? `${section}/${part}` : section;
  useKeys(setDialog);
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>Skip to the content</a>
    <div class="shell"><aside><a class="brand" href="#/"><img src="icon.svg" alt="" width="28" height="28" /><span>${context.data?.company?.name ?? 'Mission Control'}</span></a>
      ${session.value.companies.length > 1 && html`<${Companies} />`}
      <${Links} label="Pages" of=${shown().map(([id, name]) => [`#/${id}`, id === 'operations/approvals' ? html`${name}<${Waiting} of=${context.data} />` : name, here === id])} />
      <div class="foot"><button type="button" class="quiet small" onClick=${() => setDialog('palette')}>Go to… <kbd>Ctrl K</kbd></button>
        <button type="button" class="quiet small" onClick=${() => setDialog('keys')}>Keys <kbd>?</kbd></button>
        <button type="button" class="quiet small" onClick=${() => setDialog('settings')}>Display</button>
        <a class="account clip" href="#/account" title=${userEmail()}>${userEmail() || 'Account'}</a><button type="button" class="quiet small" onClick=${logOut}>Log out</button></div></aside>
      <main id="main" tabindex="-1">${children}</main></div>
    ${dialog === 'keys' && html`<${Keys} close=${close} />`}${dialog === 'palette' && html`<${Palette} close=${close} />`}${dialog === 'settings' && html`<${Display} close=${close} />`}`;
}

/** Companies leads to another company of the person. */
function Companies() {
  const [problem, setProblem] = useState(null), { company, companies } = session.value;
  const pick = (id) => change(id).catch(setProblem);
  return html`<${Choice} label="Company" value=${company} options=${companies.map((c) => [c.id, c.name])} onPick=${pick} /><${Trouble} problem=${problem} />`;
}

/** Waiting counts the approvals that can still be answered. They expire after a day. */
function Waiting({ of }) {
  const n = (of?.governance.waiting ?? []).filter((b) => now() - Date.parse(b.from) < 25 * 3_600_000).reduce((sum, b) => sum + b.count, 0);
  return n > 0 && html` <span class="count" title=${`${plural(n, 'approval')} to answer`}>${n}</span>`;
}

const Keys = ({ close }) => html`<${Dialog} title="Keys" close=${close}><dl class="keys"><div><dt><kbd>Ctrl</kbd> <kbd>K</kbd></dt><dd>Go to a page or an integration</dd></div><div><dt><kbd>/</kbd></dt><dd>Filters of the page</dd></div><div><dt><kbd>?</kbd></dt><dd>This list</dd></div>
  ${shown().map(([id, name, key]) => html`<div key=${id}><dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>${name}</dd></div>`)}</dl><//>`;

const Display = ({ close }) => html`<${Dialog} title="Display" close=${close}><div class="stack">
  <${Choice} label="Times" value=${times.value} options=${[['relative', 'Relative: 5 minutes ago'], ['local', 'Local time'], ['utc', 'UTC']]} onPick=${(v) => { times.value = v; }} />
  <${Choice} label="Theme" value=${theme.value} options=${[['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']]} onPick=${(v) => { theme.value = v; }} />
  <p class="muted fine">Company <code>${session.value?.company}</code></p></div><//>`;

function Palette({ close }) {
  const [text, setText] = useState(''), [at, setAt] = useState(0), input = useRef(null);
  const live = useLive(may('integrations:read') ? 'integrations' : null, { poll: false });
  const all = [...shown().map(([id, name]) => [`#/${id}`, name]), ...(may('integrations:write') ? [['#/connect', 'Connect something']] : []), ['#/syncs', 'Syncs'], ...(may('integrations:read') ? [['#/events', 'Events']] : []),
    ...(live.data?.items ?? []).map((i) => [`#/integrations/${encodeURIComponent(i.provider)}`, `Integration: ${i.provider}`])];
  const found = all.filter(([, name]) => name.toLowerCase().includes(text.toLowerCase())), chosen = Math.min(at, found.length - 1);
  useLayoutEffect(() => { input.current?.focus(); }, []);
  useEffect(() => { document.getElementById(`found-${chosen}`)?.scrollIntoView({ block: 'nearest' }); }, [chosen]);
  const leave = (to) => { close(); go(to); };
  const press = (e) => {
    if (e.key === 'ArrowDown') { e.preventDefault(); setAt(Math.min(chosen + 1, found.length - 1)); }
    if (e.key === 'ArrowUp') { e.preventDefault(); setAt(Math.max(chosen - 1, 0)); }
    if (e.key === 'Enter' && found[chosen]) { e.preventDefault(); leave(found[chosen][0]); }
  };
  return html`<${Dialog} title="Go to" close=${close}><input ref=${input} role="combobox" aria-expanded="true" aria-controls="found" aria-label="Name of a page or an integration" aria-activedescendant=${found.length ? `found-${chosen}` : undefined} value=${text} onKeyDown=${press} onInput=${(e) => { setText(e.currentTarget.value); setAt(0); }} />
    <ul id="found" class="plain found" role="listbox" aria-label="Places">${found.map(([to, name], i) => html`<li key=${to} id=${`found-${i}`} role="option" aria-selected=${i === chosen} onClick=${() => leave(to)}>${name}</li>`)}</ul>${found.length === 0 && html`<p class="muted">Nothing has this name.</p>`}<//>`;
}
