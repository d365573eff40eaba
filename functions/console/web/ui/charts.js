// Module charts draws small charts as SVG, each with a table for screen readers.
import { html } from '../lib/h.js';
import { clock, number, percent, plural } from '../lib/format.js';
import { times } from '../lib/prefs.js';

/** Ring draws a score of 100, with the lower bound as a mark. */
export function Ring({ score, least, tone }) {
  const r = 52, around = 2 * Math.PI * r, part = (of) => (around * Math.max(0, Math.min(100, of))) / 100;
  const angle = ((least ?? 0) / 100) * 2 * Math.PI - Math.PI / 2;
  return html`<svg class="ring ${tone}" viewBox="0 0 120 120" role="img" aria-label=${score === null ? 'The score is not known yet' : `${Math.round(score)} of 100, at least ${Math.round(least)}`}>
    <circle cx="60" cy="60" r=${r} class="track" />
    ${score !== null && html`<circle cx="60" cy="60" r=${r} class="value" stroke-dasharray="${part(score)} ${around}" transform="rotate(-90 60 60)" />`}
    ${least !== undefined && html`<line class="least" x1=${60 + 45 * Math.cos(angle)} y1=${60 + 45 * Math.sin(angle)} x2=${60 + 59 * Math.cos(angle)} y2=${60 + 59 * Math.sin(angle)} />`}
    <text x="60" y="55" class="big">${score === null ? '–' : Math.round(score)}</text><text x="60" y="82" class="unit">of 100</text>
  </svg>`;
}

/** Bars draws delivered and failed attempts by hour. */
export function Bars({ points }) {
  const most = Math.max(1, ...points.map((p) => p.delivered + p.failed)), w = 100 / points.length, h = 40;
  const total = points.reduce((n, p) => n + p.delivered + p.failed, 0), failed = points.reduce((n, p) => n + p.failed, 0);
  const hourOf = (p) => clock(Date.parse(p.at), times.value === 'utc').slice(11, 16);
  return html`<figure class="bars">
    <svg viewBox="0 0 100 ${h}" preserveAspectRatio="none" role="img" aria-label=${`${plural(total, 'attempt')} in 24 hours, ${number(failed)} failed; the table below has each hour`}>
      ${points.map((p, i) => {
        const good = (p.delivered / most) * (h - 2), bad = (p.failed / most) * (h - 2);
        return html`<g key=${p.at}><title>${`${hourOf(p)}: ${p.delivered} delivered, ${p.failed} failed`}</title>
          <rect class="empty" x=${i * w + w * 0.14} width=${w * 0.72} y=${h - 0.8} height="0.8" />
          <rect class="good" x=${i * w + w * 0.14} width=${w * 0.72} y=${h - good} height=${good} />
          <rect class="poor" x=${i * w + w * 0.14} width=${w * 0.72} y=${h - good - bad} height=${bad} /></g>`;
      })}
    </svg>
    <figcaption class="row spread muted"><span>${hourOf(points[0])}</span><span>${plural(total, 'attempt')}${total > 0 ? ` · ${percent(1 - failed / total)} delivered` : ''}</span><span>now</span></figcaption>
    <div class="unseen"><table><caption>Attempts by hour</caption><thead><tr><th>Hour</th><th>Delivered</th><th>Failed</th></tr></thead>
      <tbody>${points.map((p) => html`<tr key=${p.at}><td>${hourOf(p)}</td><td>${p.delivered}</td><td>${p.failed}</td></tr>`)}</tbody></table></div>
  </figure>`;
}

/** Progress draws a share. */
export const Progress = ({ share, label }) => html`<span class="progress"><progress max="1" value=${share} aria-label=${label}></progress><span>${percent(share)}</span></span>`;
