// The console: one page over the public API alone.
import { html, render } from './lib/h.js';
import { lapsed, may, resume, session } from './lib/api.js';
import { route } from './lib/route.js';
import { Shell, sectionOf } from './ui/shell.js';
import { Empty, Head } from './ui/parts.js';
import { Later } from './ui/later.js';
import { Login, Relogin } from './pages/login.js';
import { Today } from './pages/today.js';
import { Health } from './pages/health.js';
import { Recommendations } from './pages/recommendations.js';
import { Integrations } from './pages/integrations.js';
import { Integration } from './pages/integration.js';
import { Deliveries } from './pages/deliveries.js';

// Pages that are rarely opened are in files of their own, operations.js and sso.js, which import these.
export * from './lib/h.js';
export * from './lib/api.js';
export * from './lib/compare.js';
export * from './lib/format.js';
export * from './lib/kinds.js';
export * from './lib/live.js';
export * from './lib/outcome.js';
export * from './lib/passkey.js';
export * from './lib/places.js';
export * from './lib/prefs.js';
export * from './lib/route.js';
export * from './ui/charts.js';
export * from './ui/dialog.js';
export * from './ui/guard.js';
export * from './ui/parts.js';
export * from './ui/table.js';
export * from './ui/waits.js';
export * from './ui/within.js';

/** Page chooses the page of a place. */
function Page({ path: [named, second, third, fourth] }) {
  if (session.value.enrol) return html`<${Later} part="Account" />`;
  const { company } = route.value.query;
  if (company && company !== session.value.company) return html`<${Later} part="Elsewhere" />`;
  const [head, , , scope] = sectionOf(named);
  if (scope && !may(scope)) return html`<${Head} title="Not for your role" /><${Empty} title="Your role does not include this page"><a href="#/">Go to the first page</a><//>`;
  switch (named ?? head) {
    case 'today': return html`<${Today} />`;
    case 'health': return html`<${Health} />`;
    case 'timeline': return html`<${Later} part="Timeline" />`;
    case 'recommendations': return html`<${Recommendations} />`;
    case 'connect': return html`<${Later} part="Connect" key=${second} provider=${second} />`;
    case 'connected': return html`<${Later} part="Connected" />`;
    case 'integrations':
      if (third === 'deliveries' && fourth) return html`<${Later} part="Delivery" key=${fourth} provider=${second} id=${fourth} />`;
      return second ? html`<${Integration} key=${second} provider=${second} tab=${third} />` : html`<${Integrations} />`;
    case 'events': return html`<${Later} part="Events" name=${second} />`;
    case 'deliveries': return html`<${Deliveries} />`;
    case 'memory': return second ? html`<${Later} part="Memory" key=${second} id=${second} />` : html`<${Later} part="Memories" />`;
    case 'goals': return second ? html`<${Later} part="Goal" key=${second} id=${second} />` : html`<${Later} part="Goals" />`;
    case 'operations': return html`<${Later} part="Operations" tab=${second} id=${third} />`;
    case 'account': return html`<${Later} part="Account" />`;
    case 'lost': case 'reset': return html`<${Head} title="New password" about="It ends all your sessions." /><section class="card narrow"><${Later} key=${named} part=${named === 'lost' ? 'AskReset' : 'Reset'} /></section>`;
    case 'invitation': return html`<${Later} part="Join" />`;
    case 'authorize': return html`<${Later} part="Authorize" />`;
    case 'slack': return html`<${Later} part="SlackLink" code=${second} />`;
    case 'syncs': return html`<${Later} part="Syncs" run=${second} />`;
    default: return html`<${Head} title="No such page" /><${Empty} title="The address leads nowhere"><a href="#/">Go to the first page</a><//>`;
  }
}

function App() {
  if (!session.value) return html`<${Login} />`;
  return html`<${Shell}><${Page} path=${route.value.path} /><//>${lapsed.value && html`<${Relogin} />`}`;
}

resume();
render(html`<${App} />`, document.getElementById('app'));
