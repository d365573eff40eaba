// Module recover sends a window of deliveries again.
import { html, useEffect, useState } from '../lib/h.js';
import { call, now } from '../lib/api.js';
import { clock, plural, span } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { recoverable } from './recoverable.js';
import { windows } from '../ui/within.js';
import { Dialog } from '../ui/dialog.js';
import { Choice, Status, Trouble } from '../ui/parts.js';

/** Run shows how far a recovery is, and calls done when nothing of it waits. */
export function Run({ provider, of, done }) {
  const live = useLive(`integrations/${encodeURIComponent(provider)}/recoveries/${of.id}`), run = live.data ?? of, n = run.counts;
  useEffect(() => {
    if (run.state === 'finished' && n && !n.waiting) { done?.(); return undefined; }
    const timer = setTimeout(live.reload, 1500);
    return () => clearTimeout(timer);
  }, [live.data]);
  return html`<p class="row"><${Status} of=${run.state === 'finished' && n?.failed + n?.held > 0 ? 'warn' : run.state} label=${run.state} /><span>${plural(run.recovered, 'delivery', 'deliveries')} since ${clock(Date.parse(of.since), true)} queued</span></p>
    ${n && html`<progress max=${Math.max(1, n.requested)} value=${n.requested - n.waiting} aria-label="Progress of the recovery"></progress>
      <p class="muted">${n.delivered} delivered · ${n.failed} failed · ${n.held} held · ${n.waiting} waiting</p>`}`;
}

/** Recover asks for the window, shows the count, and then the progress. */
export function Recover({ provider, close }) {
  const [seconds, setSeconds] = useState('86400'), [count, setCount] = useState(null), [made, setMade] = useState(null), [problem, setProblem] = useState(null);
  const attempt = async (step) => { setProblem(null); try { await step(); } catch (p) { setProblem(p); } };
  const look = () => attempt(async () => {
    const since = new Date(now() - Number(seconds) * 1000).toISOString();
    const page = async (state, cursor) => (await call('GET', `integrations/${encodeURIComponent(provider)}/deliveries?${new URLSearchParams({ state, since, limit: '100', ...(cursor && { cursor }) })}`)).body;
    setCount({ since, ...await recoverable(page, now()) });
  });
  const run = () => attempt(async () => setMade((await call('POST', `integrations/${encodeURIComponent(provider)}/recover`, { body: { since: count.since } })).body));
  return html`<${Dialog} title="Recover deliveries" close=${close}>
    ${made ? html`<${Run} provider=${provider} of=${made} /><p class="row end"><button type="button" class="primary" onClick=${close}>See the deliveries</button></p>`
      : html`<p>Every delivery of ${provider} that failed, is a dead letter, is held, waits for the end of a pause or is overdue goes out again.</p>
        <${Choice} label="Events of" value=${seconds} options=${windows} onPick=${(v) => { setSeconds(v); setCount(null); }} />
        ${count && html`<p class="note">${count.n === 0 ? (count.more ? 'None among the newest. Older ones may wait.' : `Nothing to recover in ${span(Number(seconds))}.`) : `${plural(count.n, 'delivery', 'deliveries')}${count.more ? ' or more' : ''} will be sent again.`}</p>`}
        <${Trouble} problem=${problem} />
        <p class="row end"><button type="button" onClick=${close}>Cancel</button>${count && (count.n > 0 || count.more) ? html`<button type="button" class="primary" onClick=${run}>Recover ${count.more ? 'them' : count.n}</button>` : html`<button type="button" class="primary" onClick=${look}>Count them</button>`}</p>`}<//>`;
}
