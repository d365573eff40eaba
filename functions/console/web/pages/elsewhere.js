// Module elsewhere shows a place of another company than that of the session.
import { html } from '../lib/h.js';
import { change, logOut, session } from '../lib/api.js';
import { place } from '../lib/places.js';
import { filter, route } from '../lib/route.js';
import { Action, Head } from '../ui/parts.js';

/** Elsewhere offers to go to the company that the address names. */
export function Elsewhere() {
  const { company, ...query } = route.value.query, named = session.value.companies.find((c) => c.id === company);
  if (!named) {
    return html`<${Head} title="Another company" about="The address is of a company that this session does not reach." />
      <p class="row"><button type="button" onClick=${logOut}>Log in there</button><button type="button" class="quiet" onClick=${() => filter({ company: '' })}>Stay here</button></p>`;
  }
  return html`<${Head} title="Another company" about=${`The address is of ${named.name}.`} />
    <p class="row"><${Action} primary label=${`Go to ${named.name}`} run=${() => change(company, place(route.value.path, query))} /><button type="button" class="quiet" onClick=${() => filter({ company: '' })}>Stay here</button></p>`;
}
