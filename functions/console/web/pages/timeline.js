// Module timeline lists what happened, by day.
import { html } from '../lib/h.js';
import { dayOf, sentence, words } from '../lib/format.js';
import { usePages } from '../lib/live.js';
import { subjectPlace } from '../lib/places.js';
import { times } from '../lib/prefs.js';
import { filter, route } from '../lib/route.js';
import { Within, within } from '../ui/within.js';
import { Choice, Curl, Empty, Head, Loading, More, Time, Trouble } from '../ui/parts.js';

const kinds = ['integration.configured', 'integration.certified', 'integration.sandboxed', 'integration.disabled', 'memory.synced', 'goal.updated',
  'goal.alignment.changed', 'policy.denied', 'approval.requested', 'approval.decided', 'executive.acted', 'note', 'brief'];
const actors = [['', 'All'], ['user', 'People'], ['integration', 'Integrations'], ['executive', 'Executives'], ['system', 'The service']];
const none = { kind: '', actor: '', subject: '', since: '', until: '', within: '' };

/** About names what an entry is about, as a link if the console shows it. */
const About = ({ of }) => { const to = subjectPlace(of); return to && html` · <a href=${to}>${of.type === 'integration' ? of.id : `the ${words(of.type)}`}</a>`; };

export function Timeline() {
  const { kind = '', actor = '', subject = '', until = '' } = route.value.query, since = within();
  const query = new URLSearchParams({ limit: '50', ...(kind && { kind }), ...(actor && { actor }), ...(subject && { subject }), ...(since && { since }), ...(until && { until }) });
  const filtered = [...query].length > 1, all = html`<button type="button" class="small" onClick=${() => filter(none)}>Show all</button>`;
  const path = `mission-control/timeline?${query}`, page = usePages(path);
  const days = new Map();
  for (const e of page.items) {
    const day = dayOf(Date.parse(e.at), times.value === 'utc');
    days.set(day, [...(days.get(day) ?? []), e]);
  }
  return html`<${Head} title="Timeline" about="Kept for 180 days, the newest first."><${Curl} path=${path} /><//>
    <div class="filters"><${Choice} label="Kind" value=${kind} options=${[['', 'All'], ...kinds.map((k) => [k, sentence(words(k))])]} onPick=${(v) => filter({ kind: v })} />
      <${Choice} label="By" value=${actor.split(':')[0]} options=${actors} onPick=${(v) => filter({ actor: v })} /><${Within} />${filtered && all}</div>
    <${Trouble} problem=${page.problem} retry=${page.reload} />
    ${page.items.length === 0 && page.loading && html`<${Loading} rows=${6} />`}
    ${page.items.length === 0 && !page.loading && !page.problem && html`<${Empty} title=${filtered ? 'None match' : 'No entries yet'}>${filtered ? all : html`The first connector that you configure is the first entry. <a href="#/connect">Connect one</a>.`}<//>`}
    ${[...days].map(([day, entries]) => html`<section key=${day} class="day"><h2>${day}</h2><ol class="plain line">${entries.map((e) => html`<li key=${e.id} class=${page.fresh.has(e) ? 'fresh' : ''}>
      <span class="when muted"><${Time} at=${e.at} /></span><div><span>${e.title}</span><br /><small class="muted">${sentence(words(e.kind))}<${About} of=${e.subject} /></small></div></li>`)}</ol></section>`)}
    <${More} of=${page} />`;
}
