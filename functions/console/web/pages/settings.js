// Module settings changes, disables and removes an integration.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { clock } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { go } from '../lib/route.js';
import { fieldsOf, typed } from './schema.js';
import { Confirm } from '../ui/dialog.js';
import { SchemaForm } from './form.js';
import { asShown, ifMatch, useGuard } from '../ui/guard.js';
import { Link } from './connected.js';
import { Action, Await, Empty, Time } from '../ui/parts.js';
import { SecretShown } from './secret.js';

/** Settings changes the configuration, the credentials and the switches of an integration. */
export function Settings({ of, etag, path, changed, sends }) {
  const list = useLive('connectors', { poll: false }), [secret, setSecret] = useState(null), [ask, setAsk] = useState(null);
  const connector = list.data?.items.find((c) => c.provider === of.kind);
  const act = (method, to, body) => asShown(() => call(method, to, { body, headers: ifMatch(etag) }), changed);
  const rotate = async () => { setSecret((await act('POST', `${path}/secret`, {})).body.signingSecret ?? null); changed(); };
  const toggle = async () => { await act('POST', `${path}/${of.enabled ? 'disable' : 'enable'}`); changed(); };
  const remove = async () => { await act('DELETE', path); forget('integrations'); go('#/integrations'); };
  return html`${secret && html`<${SecretShown} secret=${secret} provider=${of.provider} url=${of.url} />`}
    <section class="card narrow"><h2>Configuration</h2><${Await} of=${list}>${() => (connector
      ? html`<${Configuration} of=${of} etag=${etag} path=${path} schema=${connector.configuration} changed=${changed} />`
      : html`<${Empty} title="No form for this connector">Configure it by the API.<//>`)}<//></section>
    ${connector?.credentials && html`<section class="card narrow"><h2>Credentials</h2><p class="muted">${of.credentials ? html`Stored: ${of.credentials.names.join(', ')}, <${Time} at=${of.credentials.updatedAt} />. New ones replace them all; nothing shows them again.` : 'None are stored. Nothing shows them again.'}</p>
      ${connector.connects && html`<${Link} of=${of} path=${path} />`}
      <${Credentials} of=${of} etag=${etag} path=${path} schema=${connector.credentials} changed=${changed} /></section>`}
    <section class="card narrow"><h2>Switches</h2><div class="stack">
      <p class="row">${of.enabled ? html`<button type="button" onClick=${() => setAsk('disable')}>Disable</button>` : html`<${Action} label="Enable" run=${toggle} />`}<span class="muted">${of.enabled ? 'Nothing goes in or out while it is disabled; deliveries are held.' : 'It works again, as before.'}</span></p>
      ${sends && html`<p class="row"><button type="button" onClick=${() => setAsk('rotate')}>Rotate the signing secret</button><span class="muted">The former secret signs for another day.</span></p>`}
      <p class="row"><button type="button" class="danger" onClick=${() => setAsk('remove')}>Remove</button><span class="muted">Destroys the credentials, and keeps the log of attempts.</span></p></div></section>
    ${ask === 'disable' && html`<${Confirm} title="Disable ${of.provider}" label="Disable" close=${() => setAsk(null)} run=${toggle} consequences=${[sends ? 'Its deliveries are held until it is enabled and they are recovered.' : 'It takes nothing in.', 'Webhooks that are sent to it are refused.', 'Its schedule, its certification and its secrets stay.']} />`}
    ${ask === 'rotate' && html`<${Confirm} title="Rotate the signing secret" label="Rotate" close=${() => setAsk(null)} run=${rotate} consequences=${['A new secret is made, and shown once.', 'The former secret signs next to it for 24 hours, then ends.']} />`}
    ${ask === 'remove' && html`<${Confirm} title="Remove ${of.provider}" label="Remove" name=${of.provider} close=${() => setAsk(null)} run=${remove} consequences=${['Its credentials and signing secrets are destroyed.', 'Deliveries that wait for it are held.', 'Its log of attempts stays for 30 days.']} />`}`;
}

/** Configuration changes the configuration that the page shows. */
function Configuration({ of, etag, path, schema, changed }) {
  const fields = fieldsOf(schema), view = ({ config }) => { const t = typed(fields, config); return Object.fromEntries(fields.map((f) => [f.title, t[f.name]])); };
  const guard = useGuard({ path, data: of, etag, view, took: changed });
  const save = (body) => guard.write(view({ config: { ...body, ...unseen(fields, body) } }), (tag) => call('POST', path, { body, headers: ifMatch(tag) }), () => { changed(); go(place(['integrations', of.provider])); });
  return html`<p class="note">A changed address, schema or permission returns the integration to the sandbox.</p><${SchemaForm} key=${guard.turn} schema=${schema} config=${guard.data.config} label="Save" submit=${save} />${guard.dialog}`;
}

/** unseen hides the secrets of a form from a comparison. */
const unseen = (fields, body) => Object.fromEntries(fields.filter((f) => f.secret && body[f.name]).map((f) => [f.name, 'a new secret']));

/** Credentials replaces the stored credentials, which nothing shows. */
function Credentials({ of, etag, path, schema, changed }) {
  const view = ({ credentials: c }) => ({ Credentials: c && `${c.names.join(', ')}, stored ${clock(Date.parse(c.updatedAt), true)}` });
  const guard = useGuard({ path, data: of, etag, view, took: changed });
  const store = (credentials) => guard.write({ Credentials: `${Object.keys(credentials).join(', ')}, new ones` }, (tag) => call('PUT', `${path}/credentials`, { body: { credentials }, headers: ifMatch(tag) }), () => { changed(); go(place(['integrations', of.provider])); });
  return html`<${SchemaForm} key=${guard.turn} prefix="c" schema=${schema} label="Store the credentials" submit=${store} />${guard.dialog}`;
}
