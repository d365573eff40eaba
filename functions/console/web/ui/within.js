// Module within filters a listing by how long ago.
import { html } from '../lib/h.js';
import { now } from '../lib/api.js';
import { filter, route } from '../lib/route.js';
import { Choice } from './parts.js';

/** windows lists spans in seconds, each with its name. */
export const windows = [['3600', 'The last hour'], ['86400', 'The last day'], ['604800', 'The last 7 days'], ['2592000', 'The last 30 days']];

let picked = {}; // the span of the place, and when it began as it was picked: it must not move with each look

/** within returns the time from which the place wants items on, or an empty text. */
export function within() {
  const { within: seconds, since = '' } = route.value.query;
  if (!Number(seconds)) { picked = {}; return since; }
  if (picked.seconds !== seconds) picked = { seconds, since: new Date(now() - seconds * 1000).toISOString() };
  return picked.since;
}

/** Within chooses the span. A link may have chosen a time instead. */
export function Within() {
  const { within: seconds = '', since } = route.value.query;
  return html`<${Choice} label="Time" value=${since ? 'since' : seconds} options=${[['', 'All'], ...windows, ...(since ? [['since', `Since ${since.slice(0, 16).replace('T', ' ')}`]] : [])]} onPick=${(v) => filter({ within: v, since: '' })} />`;
}
