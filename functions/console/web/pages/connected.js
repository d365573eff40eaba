// Module connected gives an integration access at its provider, and says what came of it when the browser is back.
import { html } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { place } from '../lib/places.js';
import { route } from '../lib/route.js';
import { Action, Empty, Head, Time } from '../ui/parts.js';

/** Link leads to the provider, where the person gives access. The cookie of the answer ties the way back to this browser. */
export function Link({ of, path }) {
  const lost = of.connection?.lostAt;
  const leave = async () => {
    const { body } = await call('POST', `${path ?? `integrations/${encodeURIComponent(of.provider)}`}/connect`, { once: true, cookies: true });
    location.assign(body.url);
  };
  return html`<div class="note"><p>${lost ? html`The provider has ended the access, <${Time} at=${lost} />. Syncs wait until it is connected again.` : of.connection ? html`Connected, <${Time} at=${of.connection.at} />.` : 'Give access at the provider. No token to copy.'}</p>
    ${may('integrations:write') && html`<p><${Action} primary=${!of.connection || lost} label=${of.connection ? 'Connect again' : `Connect with ${of.kind}`} run=${leave} /></p>`}</div>`;
}

/** refusals says in words why the service refused a connection. The codes are the service's own; any other text is not shown. */
const refusals = {
  again: 'It took too long, was used before or began in another browser. Start it again.', denied: 'The provider gave no access, because you or your organization declined. Nothing was changed.',
  account: 'That is another account than before. Connect the account of before, or configure a further integration for this one.', site: 'You gave access to another site than the one that is configured. Choose that site, or correct the configuration.', installation: 'You may not read that installation, or it waits for the approval of an owner of the organization. Ask an owner to install the app, then connect again.',
  operator: 'The provider refuses the application that the operator of this service has registered. Tell the operator.', refused: 'The provider refused the end of it. Start it again.',
  forbidden: 'You may no longer configure integrations.', suspended: 'Your company is suspended.', changed: 'The integration was changed or removed meanwhile. Start it again.',
};

/** Connected says what came of a connection. */
export function Connected() {
  const { provider, refused } = route.value.query, at = provider && place(['integrations', provider, ...(refused ? ['settings'] : ['certification'])]);
  return html`<${Head} title=${refused ? 'Not connected' : 'Connected'} up=${{ href: '#/integrations', text: 'Integrations' }} />
    <${Empty} title=${refused ? 'No access was given' : `${provider} has access`}>${refused ? (Object.hasOwn(refusals, refused) && refusals[refused]) || 'The provider could not be asked. Try again in a minute.' : 'Its tokens are renewed for you. Certify it next, so that its syncs take effect.'}
      ${at && html`<p><a class="button primary" href=${at}>${refused ? `Back to ${provider}` : 'Certify'}</a></p>`}<//>`;
}
