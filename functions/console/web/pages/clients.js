// Module clients administers the machines that act with keys or secrets of their own.
import { html, useState } from '../lib/h.js';
import { call, userId } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm, Dialog } from '../ui/dialog.js';
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
    ['Change', (c) => html`<span class="row">${['New secret', c.disabled ? 'Enable' : 'Disable', 'Delete'].map((what) => html`<button key=${what} type="button" class="quiet" onClick=${() => setAsk({ id: c.id, what })}>${what}…</button>`)}</span>`],
  ];
  return html`<${Await} of=${live}>${({ items }) => html`${made?.clientSecret && html`<section class="card narrow secret" role="status"><h2>Keep the secret of ${made.name} now</h2><p>It is shown this once. The client sends it with its id to <code>POST /auth/token</code>.</p>
      <p class="row"><code class="block">${made.clientId}</code><${Copy} text=${made.clientId} label="Copy the id" /></p><p class="row"><code class="block">${made.clientSecret}</code><${Copy} text=${made.clientSecret} label="Copy the secret" /></p></section>`}
    ${items.length === 0 ? html`<${Empty} title="No clients yet">A client is a machine that acts for the company: a report, a job, or the agent behind an executive. It never configures, certifies, approves or manages.<//>` : html`<${Table} label="Clients" rows=${items} columns=${columns} />`}
    <section class="card narrow"><h2>Create a client</h2><${Create} done=${(c) => { setMade(c); again(); }} /></section>
    ${ask && html`<${Decide} ...${ask} close=${() => setAsk(null)} done=${(answer) => { if (answer?.clientSecret) setMade(answer); again(); }} />`}`}<//>`;
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

// decisions are what a dialog does with a client: the request, and what follows.
const decisions = {
  'New secret': [(c, headers) => call('POST', `${at(c.id)}/secret`, { headers }), ['A new secret is made, and shown once.', 'The former one goes on for 24 hours.']],
  Disable: [(c, headers) => call('PATCH', at(c.id), { body: { disabled: true }, headers }), ['Its tokens end within seconds, and it gets no new ones.']],
  Enable: [(c, headers) => call('PATCH', at(c.id), { body: { disabled: false }, headers }), ['It gets tokens again, for what it may do now.']],
  Delete: [(c, headers) => call('DELETE', at(c.id), { headers }), ['Its tokens end within seconds.', 'Its secrets and keys prove nothing any more.']],
};

/** Decide changes the client that the dialog shows. */
function Decide({ id, what, close, done }) {
  const live = useLive(at(id), { poll: false }), c = live.data, title = `${what}: ${c?.name ?? 'a client'}`, [send, consequences] = decisions[what];
  if (!c) return html`<${Dialog} title=${title} close=${close}><${Await} of=${live} /><//>`;
  const run = async () => { done((await asShown(() => send(c, ifMatch(live.etag)), live.reload)).body); };
  return html`<${Confirm} title=${title} name=${what === 'Delete' && c.name} label=${what} close=${close} run=${run} consequences=${[`It is ${c.disabled ? 'disabled' : 'active'} now, and ${c.secrets.length ? `has a secret that ends in ${c.secrets[0].hint}` : 'has no secret'}.`, ...consequences]} />`;
}
