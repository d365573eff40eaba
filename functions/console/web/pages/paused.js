// Module paused shows that an endpoint gets no attempts for a while, and ends that.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { Action, Time } from '../ui/parts.js';
import { Run } from './recover.js';

const reasons = { failing: 'its last attempts failed', 'retry-after': 'it asked for a wait' };

/** Paused says why an endpoint is paused, since when and until when, and tries it now. named also says which endpoint it is. */
export function Paused({ of: { provider, paused }, named, changed }) {
  const [tried, setTried] = useState(null); // the pause that was ended, and the deliveries that waited for its end
  const resume = async () => setTried({ until: paused.until, run: (await call('POST', `integrations/${encodeURIComponent(provider)}/resume`)).body });
  if (tried?.until === paused.until) return html`<div class="note stack" role="status"><p>The pause of ${provider} has ended. If the next attempt succeeds, the others follow.</p><${Run} provider=${provider} of=${tried.run} done=${changed} /></div>`;
  return html`<div class="note stack"><p><strong>${named ? `${provider} was paused` : 'Paused'}</strong> <${Time} at=${paused.since} />: ${reasons[paused.reason]}. The next attempt is due <${Time} at=${paused.until} />. Deliveries wait, and none is lost.</p>
    ${may('integrations:write') && html`<p><${Action} label="Try now" run=${resume} /></p>`}</div>`;
}
