// Module health shows every check of the health and of the readiness.
import { html } from '../lib/h.js';
import { number, percent, sentence } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { Await, Curl, Evidence, Head, Remedy, Status, Time } from '../ui/parts.js';
import { Ring } from '../ui/charts.js';

const order = ['fail', 'warn', 'unknown', 'pass', 'not-applicable'];
const sorted = (checks) => [...checks].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || b.pointsLost - a.pointsLost);

/** Checks lists checks, the worst first, each with its reason, its evidence and its remedy. */
export const Checks = ({ of }) => html`<ul class="plain checks">${sorted(of).map((c) => html`<li key=${c.id}>
  <details><summary><span class="row spread"><span><${Status} of=${c.status} /> <strong>${c.title}</strong></span>
    ${c.pointsLost > 0 && html`<span class="lost">−${number(c.pointsLost)} points</span>`}</span><span class="reason muted">${sentence(c.reason)}</span></summary>
    <div class="inside"><${Evidence} of=${c.evidence} />${c.weight > 0 && html`<p class="muted">Weight ${number(c.weight)}</p>`}</div></details>
  ${c.status !== 'pass' && c.remedy && html`<p class="remedy"><${Remedy} of=${c.remedy} /></p>`}</li>`)}</ul>`;

/** Capped says that a cap lowers the score, which the lost points alone do not explain. */
export const Capped = ({ by }) => by && html` <strong>It is capped at ${number(by.at)} because a critical check fails: ${by.because.join(', ')}.</strong> Without the cap it would be ${number(by.mean)}.`;

/** Ladder shows the levels of the readiness. In brief, it shows the checks that block the next level alone. */
export function Ladder({ of, brief }) {
  const blocking = new Set(of.blocking ?? []);
  return html`<ol class="ladder">${of.levels.map((l) => {
    const here = of.level === l.level, next = of.level + 1 === l.level;
    const checks = brief ? l.checks.filter((c) => next && blocking.has(c.id)) : l.checks;
    return html`<li key=${l.level} class="${l.passed && l.level <= of.level ? 'reached' : ''} ${here ? 'here' : ''} ${next ? 'next' : ''}">
      <span class="rung" aria-hidden="true">${l.level <= of.level ? '✓' : l.level}</span>
      <div><strong>${l.title}</strong> <span class="muted">${l.level <= of.level ? 'reached' : next ? 'next' : 'later'}</span>
        ${checks.length > 0 && html`<${Checks} of=${checks} />`}</div></li>`;
  })}</ol>`;
}

export function Health() {
  const health = useLive('mission-control/health'), readiness = useLive('mission-control/readiness');
  return html`<${Head} title="Health" about="Every check is computed from stored facts. The same facts give the same score."><${Curl} path="mission-control/health" /><//>
    <${Await} of=${health}>${(h) => html`<section class="card">
      <div class="score"><${Ring} score=${h.score} least=${h.lowerBound} tone=${{ pass: 'ok', warn: 'warn', fail: 'bad' }[h.status] ?? 'none'} />
        <p>${h.score === null ? 'Less than half of the weight is known, so there is no score yet.' : `The score is the weighted mean of the checks that are known, which is ${percent(h.coverage)} of the weight.`}
          <${Capped} by=${h.cap} />${' '}Counting the unknown as 0, it is at least ${Math.round(h.lowerBound)}. As of <${Time} at=${h.asOf} />.</p></div>
      <${Checks} of=${h.checks} /></section>`}<//>
    <h2>Readiness</h2>
    <${Await} of=${readiness}>${(r) => html`<section class="card"><p class="muted">A level counts when all of its checks, and all levels below, pass.</p><${Ladder} of=${r} /></section>`}<//>`;
}
