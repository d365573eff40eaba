// Module waits says when a delivery is next due, and why it waits.
import { html } from '../lib/h.js';
import { now } from '../lib/api.js';
import { Time, tick } from './parts.js';

const reasons = {
  failing: 'paused: its attempts fail', 'retry-after': 'paused: it asked for a wait', schedule: 'by the schedule', backlog: 'others come first', line: 'an earlier delivery comes first',
};

/** Next shows when a delivery is due, or that it is overdue, and why it waits. */
export function Next({ of: { nextAttemptAt, waitingFor } }) {
  tick.value;
  return html`${Date.parse(nextAttemptAt) < now() - 5000 && 'Overdue, was due '}${(nextAttemptAt || !waitingFor) && html`<${Time} at=${nextAttemptAt} />`}
    ${waitingFor && html` <small class="muted">${reasons[waitingFor]}</small>`}`;
}
