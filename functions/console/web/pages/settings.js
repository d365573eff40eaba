// Module settings changes, disables and removes an integration.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { go } from '../lib/route.js';
import { Confirm } from '../ui/dialog.js';
import { SchemaForm } from '../ui/form.js';
import { Action, Await, Empty, Time } from '../ui/parts.js';
import { SecretShown } from './secret.js';

/** Settings changes the configuration, the credentials and the switches of an integration. */
export function Settings({ of, path, changed, sends }) {
  const list = useLive('connectors', { poll: false }), [secret, setSecret] = useState(null), [ask, setAsk] = useState(null);
  const connector = list.data?.items.find((c) => c.provider === of.kind);
  const save = async (body) => { await call('POST', path, { body }); changed(); go(place(['integrations', of.provider])); };
  const rotate = async () => { setSecret((await call('POST', `${path}/secret`, { body: {} })).body.signingSecret ?? null); changed(); };
  const store = async (credentials) => { await call('PUT', `${path}/credentials`, { body: { credentials } }); changed(); go(place(['integrations', of.provider])); };
  const toggle = async () => { await call('POST', `${path}/${of.enabled ? 'disable' : 'enable'}`); changed(); return of.enabled ? 'Disabled.' : 'Enabled.'; };
  const remove = async () => { await call('DELETE', path); forget('integrations'); go('#/integrations'); };
  return html`${secret && html`<${SecretShown} secret=${secret} provider=${of.provider} url=${of.url} />`}
    <section class="card narrow"><h2>Configuration</h2><${Await} of=${list}>${() => (connector
      ? html`<p class="note">A changed address, schema or permission returns the integration to the sandbox.</p><${SchemaForm} schema=${connector.configuration} config=${of.config} label="Save" submit=${save} />`
      : html`<${Empty} title="No form for this connector">Configure it by the API.<//>`)}<//></section>
    ${connector?.credentials && html`<section class="card narrow"><h2>Credentials</h2><p class="muted">${of.credentials ? html`Stored: ${of.credentials.names.join(', ')}, <${Time} at=${of.credentials.updatedAt} />. New ones replace them all; nothing shows them again.` : 'None are stored. Nothing shows them again.'}</p>
      <${SchemaForm} prefix="c" schema=${connector.credentials} label="Store the credentials" submit=${store} /></section>`}
    <section class="card narrow"><h2>Switches</h2><div class="stack">
      <p class="row"><${Action} key=${of.enabled} label=${of.enabled ? 'Disable' : 'Enable'} run=${toggle} /><span class="muted">${of.enabled ? 'Nothing goes in or out while it is disabled; deliveries are held.' : 'It works again, as before.'}</span></p>
      ${sends && html`<p class="row"><button type="button" onClick=${() => setAsk('rotate')}>Rotate the signing secret</button><span class="muted">The former secret signs for another day.</span></p>`}
      <p class="row"><button type="button" class="danger" onClick=${() => setAsk('remove')}>Remove</button><span class="muted">Destroys the credentials, and keeps the log of attempts.</span></p></div></section>
    ${ask === 'rotate' && html`<${Confirm} title="Rotate the signing secret" label="Rotate" close=${() => setAsk(null)} run=${rotate} consequences=${['A new secret is made, and shown once.', 'The former secret signs next to it for 24 hours, then ends.']} />`}
    ${ask === 'remove' && html`<${Confirm} title="Remove ${of.provider}" label="Remove" name=${of.provider} close=${() => setAsk(null)} run=${remove} consequences=${['Its credentials and signing secrets are destroyed.', 'Deliveries that wait for it are held.', 'Its log of attempts stays for 30 days.']} />`}`;
}
