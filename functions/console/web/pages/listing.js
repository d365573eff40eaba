// Module listing frames the pages that list items.
import { html } from '../lib/h.js';
import { may } from '../lib/api.js';
import { useLive, usePages } from '../lib/live.js';
import { Empty, Loading, More, Trouble } from '../ui/parts.js';

/** Listing shows filters, then the items of a path as its child draws them, or what none says. */
export function Listing({ path, filters, none, children }) {
  const page = usePages(path), empty = page.items.length === 0;
  return html`${filters && html`<div class="filters">${filters}</div>`}<${Trouble} problem=${page.problem} retry=${page.reload} />
    ${empty && page.loading && html`<${Loading} rows=${5} />`}
    ${empty && !page.loading && !page.problem && (page.more ? html`<${Empty} title="None match among the newest">Show more goes on with the older ones.<//>` : none)}${!empty && children(page.items, page.reload, page.fresh)}<${More} of=${page} />`;
}

/** usePeople returns a function that names a user by its id, or returns undefined where the session may not see users. */
export function usePeople() {
  const live = useLive(may('operations:write') ? 'operations/users?limit=100' : null, { poll: false });
  return (id) => { const u = live.data?.items.find((one) => one.id === id); return u && (u.name || u.email); };
}
