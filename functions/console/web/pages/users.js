// Module users administers who may log in.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { Action, Choice, Copy, Empty, Status, Time } from '../ui/parts.js';
import { Confirm } from '../ui/dialog.js';
import { Listing, Table } from './listing.js';

const roles = ['founder', 'member', 'operator'].map((r) => [r, r[0].toUpperCase() + r.slice(1)]);

/** Users lists the users, invites one and removes one. */
export function Users() {
  const [count, setCount] = useState(0), [ask, setAsk] = useState(null), again = () => setCount((n) => n + 1);
  const columns = (reload) => [
    ['Who', (u) => html`${u.name ? html`${u.name}<br />` : ''}<span class=${u.name ? 'muted' : ''}>${u.email}</span>`], ['Role', (u) => u.role], ['State', (u) => html`<${Status} of=${u.state} />`], ['Since', (u) => html`<${Time} at=${u.createdAt} />`],
    ['Change', (u) => html`<span class="row"><${Action} quiet label=${u.state === 'disabled' ? 'Enable' : 'Disable'} run=${async () => { await call('PATCH', `operations/users/${u.id}`, { body: { disabled: u.state !== 'disabled' } }); reload(); }} /><button type="button" class="quiet" onClick=${() => setAsk(u)}>Remove…</button></span>`],
  ];
  return html`<${Invite} done=${again} /><${Listing} key=${count} path="operations/users" none=${html`<${Empty} title="No users" />`}>${(items, reload) => html`<${Table} label="Users" rows=${items} columns=${columns(reload)} />`}<//>
    ${ask && html`<${Confirm} title="Remove ${ask.email}" name=${ask.email} label="Remove" close=${() => setAsk(null)} run=${async () => { await call('DELETE', `operations/users/${ask.id}`); again(); }} consequences=${['The user can no longer log in.', 'The tokens of the user end.', 'The last founder cannot be removed.']} />`}`;
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
