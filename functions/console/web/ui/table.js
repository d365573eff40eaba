// Module table shows rows. On a phone, a row is a small card, and each of its cells begins with the name of its column.
import { html } from '../lib/h.js';

/** Table shows rows. A column is its heading and what it shows of an item. The roles stay when the style sheet makes cards of the rows. */
export const Table = ({ label, columns, rows, fresh, id = (r) => r.id }) => html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table class="list" role="table">
  <thead role="rowgroup"><tr role="row">${columns.map(([name]) => html`<th key=${name} role="columnheader">${name}</th>`)}</tr></thead>
  <tbody role="rowgroup">${rows.map((r) => html`<tr key=${id(r)} role="row" class=${fresh?.has(r) ? 'fresh' : ''}>${columns.map(([name, show]) => html`<td key=${name} role="cell" data-name=${name}>${show(r)}</td>`)}</tr>`)}</tbody></table></div>`;
