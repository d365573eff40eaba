// Module users administers who may log in.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm, Dialog } from '../ui/dialog.js';
import { SchemaForm } from './form.js';
import { asShown, ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Choice, Copy, Empty, Status, Time } from '../ui/parts.js';
import { Listing } from './listing.js';
import { Table } from '../ui/table.js';

const roles = ['founder', 'member', 'operator'].map((r) => [r, r[0].toUpperCase() + r.slice(1)]);

// refusals say why no mails go to an address, before the time.
const refusals = { refused: 'the address was refused', bounced: 'one came back', complained: 'one was reported as unwanted' };

/** Users lists the users, invites one and removes one. */
export function Users() {
  const [count, setCount] = useState(0), [ask, setAsk] = useState(null), again = () => setCount((n) => n + 1);
  const columns = [
    ['Who', (u) => html`${u.name ? html`${u.name}<br />` : ''}<span class=${u.name ? 'muted' : ''}>${u.email}</span>`], ['Role', (u) => u.role], ['State', (u) => html`<${Status} of=${u.state} />${u.mailRefusedAt && html`<br /><span class="muted">No mails: ${refusals[u.mailRefusedWith] ?? refusals.refused} <${Time} at=${u.mailRefusedAt} /></span>`}`], ['Since', (u) => html`<${Time} at=${u.createdAt} />`],
    ['Change', (u) => html`<span class="row"><button type="button" class="quiet" onClick=${() => setAsk({ change: u })}>Change…</button><button type="button" class="quiet" onClick=${() => setAsk({ remove: u })}>Remove…</button></span>`],
  ];
  return html`<${Invite} done=${again} /><${Listing} key=${count} path="operations/users" none=${html`<${Empty} title="No users" />`}>${(items) => html`<${Table} label="Users" rows=${items} columns=${columns} />`}<//>
    ${ask?.change && html`<${Change} id=${ask.change.id} close=${() => setAsk(null)} changed=${again} />`}${ask?.remove && html`<${Remove} id=${ask.remove.id} close=${() => setAsk(null)} changed=${again} />`}`;
}

const at = (id) => `operations/users/${encodeURIComponent(id)}`;
const view = (u) => ({ Name: u.name, Role: u.role, State: u.state === 'disabled' ? 'disabled' : 'may log in', Mails: u.mailRefusedAt ? 'not sent' : 'sent' });

/** Change changes the name, the role and the state of a user, as the dialog shows them. */
function Change({ id, close, changed }) {
  const live = useLive(at(id), { poll: false });
  return html`<${Dialog} title="Change ${live.data?.email ?? 'the user'}" close=${close}><${Await} of=${live}>${(u, etag) => html`<${Draft} of=${u} etag=${etag} close=${close} changed=${changed} />`}<//><//>`;
}

function Draft({ of, etag, close, changed }) {
  const guard = useGuard({ path: at(of.id), data: of, etag, view, took: changed }), shown = { name: '', ...guard.data, disabled: guard.data.state === 'disabled' };
  const schema = { properties: {
    name: { title: 'Name' }, ...(of.role !== 'integration' && { role: { title: 'Role', enum: roles.map(([r]) => r), description: 'A new role ends the tokens of the user.' } }),
    disabled: { title: 'Disabled', type: 'boolean', description: 'A disabled user cannot log in, and the tokens of the user end within seconds.' },
    ...(of.mailRefusedAt && { resumeMails: { title: 'Send mails again', type: 'boolean', description: `No mails go to the address, because ${refusals[of.mailRefusedWith] ?? refusals.refused}.` } }),
  } };
  const submit = (typed) => {
    const want = { name: typed.name ?? '', role: typed.role ?? of.role, disabled: typed.disabled === true };
    const body = Object.fromEntries(Object.entries(want).filter(([field, value]) => value !== shown[field]));
    if (typed.resumeMails) body.resumeMails = true;
    if (!Object.keys(body).length) { close(); return undefined; }
    return guard.write(view({ ...want, state: want.disabled ? 'disabled' : 'active', mailRefusedAt: body.resumeMails ? undefined : shown.mailRefusedAt }), (tag) => call('PATCH', at(of.id), { body, headers: ifMatch(tag) }), () => { forget(at(of.id)); changed(); close(); });
  };
  return html`<${SchemaForm} key=${guard.turn} schema=${schema} config=${shown} label="Save" submit=${submit} prefix="u" />${guard.dialog}`;
}

/** Remove removes the user whom the dialog shows. */
function Remove({ id, close, changed }) {
  const live = useLive(at(id), { poll: false }), u = live.data;
  if (!u) return html`<${Dialog} title="Remove a user" close=${close}><${Await} of=${live} /><//>`;
  const run = async () => { await asShown(() => call('DELETE', at(id), { headers: ifMatch(live.etag) }), live.reload); changed(); };
  return html`<${Confirm} title="Remove ${u.email}" name=${u.email} label="Remove" close=${close} run=${run} consequences=${[`The user, ${u.role} and ${u.state} now, can no longer log in.`, 'The tokens of the user end.', 'The last founder cannot be removed.']} />`;
}

function Invite({ done }) {
  const [email, setEmail] = useState(''), [role, setRole] = useState('member'), [made, setMade] = useState(null);
  const run = async () => {
    setMade((await call('POST', 'operations/users', { body: { email: email.trim(), role } })).body);
    setEmail('');
    done();
  };
  return html`<section class="card narrow"><h2>Invite</h2><div class="filters"><label class="choice"><span>E-mail</span><input id="invited" type="email" value=${email} onInput=${(e) => setEmail(e.currentTarget.value)} /></label><${Choice} label="Role" value=${role} options=${roles} onPick=${setRole} /><${Action} label="Invite" run=${run} links=${(pointer) => pointer === '/email' && ['invited', 'E-mail']} /></div>
    ${made && html`<div class="note"><p>Give ${made.email} this invitation. It is shown this once, and works for 24 hours at <code>#/invitation</code>.</p><p class="row"><code class="block">${made.invitationToken}</code><${Copy} text=${made.invitationToken} label="Copy the invitation" /></p></div>`}</section>`;
}
