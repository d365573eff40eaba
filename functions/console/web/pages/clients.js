// Module clients administers the machines that act with keys or secrets of their own.
import { html, useState } from '../lib/h.js';
import { call, userId } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm } from '../ui/dialog.js';
import { asShown, ifMatch } from '../ui/guard.js';
import { Action, Await, Copy, Empty, Status, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { SchemaForm } from './form.js';
import { usePeople } from './listing.js';

const path = 'operations/clients', at = (id) => `${path}/${encodeURIComponent(id)}`;
const scopes = ['mission-control:read', 'intelligence:read', 'intelligence:write', 'integrations:read', 'memory:read', 'memory:write', 'operations:read', 'executives:read'];

/** Clients lists the clients, and creates, disables, rotates and deletes one. */
export function Clients() {
  const live = useLive(path), named = usePeople(), [made, setMade] = useState(null), [ask, setAsk] = useState(null);
  const again = () => { forget(path); live.reload(); };
  const proofs = (c) => [c.secrets.length && `a secret that ends in ${c.secrets[0].hint}`, c.keys.length && `${c.keys.length === 1 ? 'a key' : `${c.keys.length} keys`}`, c.federation && `a token of ${c.federation.issuer}`].filter(Boolean).join(', ') || 'nothing';
  const columns = [
    ['Client', (c) => html`${c.name}<br /><small class="muted">${c.purpose}</small>`],
    ['Acts as', (c) => (c.executive ? html`<a href="#/operations/executives/${c.executive}">an executive</a>` : c.scopes.map((s) => html`<code key=${s}>${s}</code> `))],
    ['Owner', (c) => named(c.owner) ?? html`<code>${c.owner}</code>`], ['Proves itself by', proofs],
    ['Last used', (c) => (c.lastUsedAt ? html`<${Time} at=${c.lastUsedAt} />` : 'never')],
    ['State', (c) => html`<${Status} of=${c.disabled ? 'disabled' : 'active'} />`],
    ['Change', (c) => html`<span class="row"><${Action} label="New secret" run=${() => rotate(c)} /><${Action} label=${c.disabled ? 'Enable' : 'Disable'} run=${() => change(c, { disabled: !c.disabled })} /><button type="button" class="quiet" onClick=${() => setAsk(c)}>Delete…</button></span>`],
  ];
  const rotate = async (c) => { setMade((await call('POST', `${at(c.id)}/secret`)).body); again(); };
  const change = async (c, body) => { await call('PATCH', at(c.id), { body }); again(); };
  return html`<${Await} of=${live}>${({ items }) => html`${made?.clientSecret && html`<section class="card narrow secret" role="status"><h2>Keep the secret of ${made.name} now</h2><p>It is shown this once. The client sends it with its id to <code>POST /auth/token</code>.</p>
      <p class="row"><code class="block">${made.clientId}</code><${Copy} text=${made.clientId} label="Copy the id" /></p><p class="row"><code class="block">${made.clientSecret}</code><${Copy} text=${made.clientSecret} label="Copy the secret" /></p></section>`}
    ${items.length === 0 ? html`<${Empty} title="No clients yet">A client is a machine that acts for the company: a report, a job, or the agent behind an executive. It never configures, certifies, approves or manages.<//>` : html`<${Table} label="Clients" rows=${items} columns=${columns} />`}
    <section class="card narrow"><h2>Create a client</h2><${Create} done=${(c) => { setMade(c); again(); }} /></section>
    ${ask && html`<${Remove} id=${ask.id} name=${ask.name} close=${() => setAsk(null)} done=${again} />`}`}<//>`;
}

/** Create is the form of a client that gets a secret. Keys, federation and networks are for the API. */
function Create({ done }) {
  const executives = useLive('executives', { poll: false });
  if (executives.loading) return null;
  const schema = {
    required: ['name', 'purpose'],
    properties: {
      name: { title: 'Name', examples: ['Nightly report'] }, purpose: { title: 'Purpose', description: 'What it is for, in words.' },
      executive: { title: 'Executive', oneOf: [{ const: '', title: 'None' }, ...(executives.data?.items ?? []).map((e) => ({ const: e.id, title: e.name }))], description: 'The executive that it acts as. Without one, choose scopes.' },
      scopes: { title: 'Scopes', type: 'array', items: { enum: scopes }, description: 'What a client without an executive may do.' },
    },
  };
  const submit = async ({ executive, scopes: chosen, ...body }) => {
    done((await call('POST', path, { body: { ...body, owner: userId(), ...(executive ? { executive } : { scopes: chosen ?? [] }) } })).body);
  };
  return html`<p class="muted">You own it: it acts only while you are an active user, and does no more than you may.</p><${SchemaForm} schema=${schema} label="Create" submit=${submit} prefix="c" />`;
}

/** Remove deletes the client that the dialog shows. */
function Remove({ id, name, close, done }) {
  const live = useLive(at(id), { poll: false });
  return html`<${Confirm} title="Delete ${name}" name=${name} label="Delete" close=${close} consequences=${['Its tokens end within seconds.', 'Its secrets and keys prove nothing any more.']}
    run=${async () => { await asShown(() => call('DELETE', at(id), { headers: ifMatch(live.etag) }), live.reload); done(); }} />`;
}
