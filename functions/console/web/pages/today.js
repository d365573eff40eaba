// Module today is the page of the morning: the brief, the score, what to do next and what changed.
import { html } from '../lib/h.js';
import { now } from '../lib/api.js';
import { dayOf, number, percent, plural, sentence } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { placeOf, subjectPlace } from '../lib/places.js';
import { times } from '../lib/prefs.js';
import { Await, Empty, Fresh, Head, Status, Time } from '../ui/parts.js';
import { Bars, Progress, Ring } from '../ui/charts.js';
import { Suggestion, useDone } from './recommendations.js';
import { Capped, Checks, Ladder } from './health.js';
import { FirstSteps } from './first.js';

export function Today() {
  const board = useLive('mission-control/dashboard'), brief = useLive('intelligence/brief');
  return html`<${Head} title="Today" about=${dayOf(now(), times.value === 'utc')} />
    <${Await} of=${board}>${(b) => html`<${Board} of=${Object.fromEntries(b.widgets.map((w) => [w.id, w.data]))} brief=${brief} reload=${board.reload} />`}<//>`;
}

function Board({ of, brief, reload }) {
  const begun = of.integrations?.items?.length > 0, told = begun || of.attention.items.some((n) => n.subject?.type !== 'company'); // the first steps say what a new company needs
  return html`
    ${brief.data && told && html`<p class="headline"><${Fresh} of=${brief.data.headline}>${brief.data.headline}<//></p>`}
    ${!begun && html`<${FirstSteps} />`}
    <div class="grid two">
      <${Health} of=${of.health} />
      <section class="card"><h2><a href="#/health">Readiness</a></h2><${Ladder} of=${of.readiness} brief /></section>
    </div>
    ${told && html`<section class="card"><h2>Needs attention</h2><${Attention} of=${of.attention} /></section>`}
    <section><h2>Do next</h2><${Next} of=${of.recommendations.items} begun=${begun} reload=${reload} /></section>
    <div class="grid two">
      <section class="card"><h2><a href="#/deliveries">Deliveries of 24 hours</a></h2><${Bars} points=${of.deliveries.points} />
        <dl class="figures"><${Figure} label="Waiting" n=${of.deliveries.pending} /><${Figure} label="Held" n=${of.deliveries.held} /><${Figure} label="Dead letters" n=${of.deliveries.dead} bad /></dl></section>
      <section class="card"><h2><a href="#/goals">Goals</a></h2><${Goals} of=${of.goals} /></section>
    </div>
    <section class="card"><h2><a href="#/timeline">What changed</a></h2><${Changes} brief=${brief.data} entries=${of.timeline.items} /></section>`;
}

/** Attention lists what needs a person, the worst first, in the order of the brief. */
function Attention({ of }) {
  if (!of.total) return html`<p class="muted">Nothing needs attention.</p>`;
  return html`<ul class="plain needs">${of.items.slice(0, 5).map((n, i) => html`<li key=${i}><${Status} of=${tones[n.severity]} label=${n.severity} /><a href=${placeOf(n.evidence[0]) ?? '#/health'}>${n.title}</a></li>`)}</ul>
    ${of.total > 5 && html`<p class="muted">And ${number(of.total - 5)} more.</p>`}`;
}

const tones = { critical: 'fail', high: 'fail', medium: 'warn', low: 'requested' };

const Figure = ({ label, n, bad }) => html`<div><dt>${label}</dt><dd class=${bad && n > 0 ? 'poor' : ''}><${Fresh} of=${n}>${number(n)}<//></dd></div>`;

function Health({ of }) {
  const open = of.checks.filter((c) => ['fail', 'warn', 'unknown'].includes(c.status)).slice(0, 4);
  const tone = { pass: 'ok', warn: 'warn', fail: 'bad' }[of.status] ?? 'none';
  return html`<section class="card"><h2><a href="#/health">Platform health</a></h2>
    <div class="score"><${Ring} score=${of.score} least=${of.lowerBound} tone=${tone} />
      <dl class="facts"><div><dt>State</dt><dd><${Status} of=${of.status} /></dd></div>
        ${of.cap && html`<div><dt>Capped</dt><dd><${Capped} by=${of.cap} /></dd></div>`}<div><dt>At least</dt><dd>${number(Math.round(of.lowerBound))}, counting the unknown as 0</dd></div>
        <div><dt>Known</dt><dd>${percent(of.coverage)} of the weight</dd></div><div><dt>As of</dt><dd><${Time} at=${of.asOf} /></dd></div></dl></div>
    ${open.length > 0 && html`<${Checks} of=${open} />`}
  </section>`;
}

function Next({ of, begun, reload }) {
  const [said, changed] = useDone(reload);
  if (!of.length) return html`${said}<${Empty} title="No recommendations">Recommendations appear when a rule finds something to do: a goal that drifts, an endpoint that fails, a certification that expires.<//>`;
  return html`${said}<div class="grid three">${of.slice(0, 3).map((r) => html`<${Suggestion} key=${r.id} of=${r} changed=${changed} />`)}</div>
    ${of.length > 3 && html`<p><a href="#/recommendations">All recommendations</a></p>`}`;
}

function Goals({ of }) {
  const listed = of.listed ?? of.items ?? [];
  if (!listed.length) return html`<${Empty} title="No goals yet">A milestone at GitHub becomes a goal, and so do the rows of a sheet and what you <a href="#/goals">create</a>.<//>`;
  return html`<ul class="plain">${listed.slice(0, 5).map((g) => html`<li key=${g.id} class="goal-line"><div class="row spread"><span><a href="#/goals/${encodeURIComponent(g.id)}">${g.title}</a> <${Status} of=${g.status ?? g.alignment?.status} /></span>
    <${Progress} share=${g.progress} label=${g.title} /></div>${g.reason && html`<small class="muted">${sentence(g.reason)}</small>`}</li>`)}</ul><p class="muted">${plural(of.open ?? listed.length, 'goal is', 'goals are')} open.</p>`;
}

function Changes({ brief, entries }) {
  const changes = brief?.sections.find((s) => s.id === 'changes')?.items ?? [];
  if (!changes.length && !entries.length) return html`<${Empty} title="Nothing has happened yet">The first connector that you configure is the first entry.<//>`;
  if (entries.length) {
    return html`<ul class="plain changes">${entries.slice(0, 8).map((e) => html`<li key=${e.id}><span class="when muted"><${Time} at=${e.at} /></span> ${subjectPlace(e.subject) ? html`<a href=${subjectPlace(e.subject)}>${e.title}</a>` : html`<span>${e.title}</span>`}</li>`)}</ul>`;
  }
  return html`<ul class="plain">${changes.map((c, i) => html`<li key=${i}>${c.text} ${placeOf(c.evidence?.[0]) && html`<a href=${placeOf(c.evidence[0])}>evidence</a>`}</li>`)}</ul>`;
}
