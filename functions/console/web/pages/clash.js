// Module clash shows what another person changed while an editor was open, next to what one wants to store.
import { html } from '../lib/h.js';
import { differing } from '../lib/compare.js';
import { Action } from '../ui/parts.js';
import { Dialog } from '../ui/dialog.js';
import { Table } from '../ui/table.js';

/** Clash offers two ways on: to take what the other person stored, or to store one's own over it. */
export function Clash({ shown, theirs, mine, take, keep, close }) {
  const cell = (name, other) => (r) => html`<span class="value ${r[name] !== r[other] ? 'changed' : ''}">${r[name]}</span>`;
  return html`<${Dialog} wide title="Another person changed this" close=${close}><p>It was stored after you opened the page. Nothing of yours is stored yet.</p>
    <${Table} label="Differences" rows=${differing(shown, theirs, mine)} id=${(r) => r.title} columns=${[['Field', (r) => html`<strong>${r.title}</strong>`], ['When you opened it', cell('shown', 'shown')], ['Theirs, stored now', cell('theirs', 'shown')], ['Yours', cell('mine', 'shown')]]} />
    <p class="row end"><button type="button" onClick=${take}>Take theirs, drop mine</button><${Action} danger label="Keep mine and store over it" run=${keep} /></p><//>`;
}
