// Module factors manages one's own second factors, and whether a company requires them.
import { html, useMemo, useState } from '../lib/h.js';
import { begin, call, join, proven, session } from '../lib/api.js';
import { useLive } from '../lib/live.js';
import { makePasskey } from '../lib/passkey.js';
import { Confirm } from '../ui/dialog.js';
import { Action, Await, Copy, Head, Status, Time } from '../ui/parts.js';
import { Table } from '../ui/table.js';
import { drawn } from './qr.js';

/** write sends a request about factors. The service asks for the password, or for a factor, unless the login is minutes old. A repeat must
 * not get the secret of the first answer, so there is none. */
const write = (method, path, body) => proven(() => call(method, `auth/${path}`, { body, once: true }));

/** Codes shows recovery codes, once. */
const Codes = ({ of, done }) => html`<div class="note" role="status"><p>Store these recovery codes where you find them without this device. Each one logs you in once in place of a code. They are shown only now.</p>
  <ul class="plain codes">${of.map((c) => html`<li key=${c}><code>${c}</code></li>`)}</ul><p class="row"><${Copy} text=${of.join('\n')} label="Copy the codes" /><button type="button" class="primary" onClick=${done}>I have stored them</button></p></div>`;

/** Picture shows the address of a secret as a QR code, dark on light in any colours of the page, because not every app reads another one. */
function Picture({ of }) {
  const { size, path } = useMemo(() => drawn(of), [of]);
  return html`<svg role="img" aria-label="QR code of the secret" viewBox="0 0 ${size} ${size}" width="220" height="220" shape-rendering="crispEdges"><rect width=${size} height=${size} fill="#fff" /><path d=${path} fill="#000" /></svg>`;
}

const kinds = { totp: 'Authenticator app', passkey: 'Passkey' };

/** Factors lists one's own second factors, enrols one and removes one. */
export function Factors() {
  const live = useLive('auth/factors', { poll: false }), [begun, setBegun] = useState(null), [done, setDone] = useState(null), [name, setName] = useState(''), [code, setCode] = useState(''), [ask, setAsk] = useState(null);
  const start = async () => { setCode(''); setBegun((await write('POST', 'factors', { kind: 'totp', name: name.trim() })).body); };
  const passkey = async () => {
    const { id, publicKey } = (await write('POST', 'factors', { kind: 'passkey', name: name.trim() })).body;
    await confirm(id, { credential: await makePasskey(publicKey) });
  };
  const confirm = async (id, proof) => {
    const { body } = await write('POST', `factors/${id}/confirm`, proof);
    setBegun(null);
    setName('');
    live.reload();
    if (body.recoveryCodes.length > 0) setDone({ codes: body.recoveryCodes, session: body.session });
    else begin(body.session);
  };
  const stored = () => { if (done.session) begin(done.session); setDone(null); };
  const renew = async () => { setDone({ codes: (await write('POST', 'recovery-codes')).body.recoveryCodes }); live.reload(); };
  const remove = async () => { await write('DELETE', `factors/${ask.id}`); live.reload(); };
  return html`<section class="card narrow" id="factors"><h2>Second factor</h2>
    ${session.value.enrol && html`<p class="note">Your company requires a second factor. Add one to go on.</p>`}
    <${Await} of=${live}>${({ factors, recoveryCodes }) => html`
      <p class="muted">With a second factor, a login needs a passkey or a code of an authenticator app too, in all your companies.</p>
      ${factors.length > 0 && html`<${Table} label="Second factors" rows=${factors} columns=${[['Name', (f) => f.name || kinds[f.kind]], ['Kind', (f) => kinds[f.kind]], ['Since', (f) => html`<${Time} at=${f.createdAt} />`], ['Used', (f) => (f.lastUsedAt ? html`<${Time} at=${f.lastUsedAt} />` : '–')],
        ['Change', (f) => html`<button type="button" class="quiet" onClick=${() => setAsk(f)}>Remove…</button>`]]} />
        <p>${recoveryCodes} recovery codes are left. <${Action} label="New recovery codes" run=${renew} /></p>`}
      ${done ? html`<${Codes} of=${done.codes} done=${stored} />` : begun ? html`<ol><li>Scan the picture with an authenticator app, <a href=${begun.address}>add it here</a>, or type the secret.<p><${Picture} of=${begun.address} /></p><p class="row"><code class="block">${begun.secret}</code><${Copy} quiet text=${begun.secret} label="Copy the secret" /></p></li>
        <li><div class="field"><label for="first-code">The code that the app shows</label><input id="first-code" inputmode="numeric" autocomplete="one-time-code" value=${code} onInput=${(e) => setCode(e.currentTarget.value)} /></div></li></ol>
        <p class="row"><${Action} primary label="Confirm" run=${() => confirm(begun.id, { code: code.trim() })} links=${(p) => p === '/code' && ['first-code', 'The code']} /><button type="button" class="quiet" onClick=${() => setBegun(null)}>Cancel</button></p>`
      : html`<div class="field"><label for="factor-name">Name of the device</label><input id="factor-name" placeholder="Phone" maxlength="100" value=${name} onInput=${(e) => setName(e.currentTarget.value)} /></div><p class="row"><${Action} primary=${factors.length === 0} label="Add a passkey" run=${passkey} /><${Action} label="Add an authenticator app" run=${start} /></p>`}`}<//>
    ${ask && html`<${Confirm} title="Remove the second factor" label="Remove" close=${() => setAsk(null)} run=${remove} consequences=${['A login no longer takes it.', 'With the last one, the password alone logs you in, and the recovery codes go too.']} />`}</section>`;
}

/** SecondFactor decides whether the company's users need a second factor. */
export function SecondFactor() {
  const live = useLive('operations/second-factor', { poll: false });
  const put = (required) => async () => { await call('PUT', 'operations/second-factor', { body: { required } }); live.reload(); };
  return html`<${Await} of=${live}>${({ required }) => html`<section class="card narrow"><h2>Second factor</h2><p><${Status} of=${required ? 'enabled' : 'optional'} label=${required ? 'required' : 'optional'} /></p>
    <p>${required ? 'A user who logs in without a second factor can only add one.' : 'Each user decides. Once it is required, a user without one can only add one.'} Users of your identity provider have the factors that it asks for.</p>
    <p class="muted">A founder decides, who has logged in with <a href="#/account">a second factor</a>. Sessions that began before go on, for an hour at most.</p>
    <p><${Action} primary=${!required} label=${required ? 'Make it optional' : 'Require it'} run=${put(!required)} /></p></section>`}<//>`;
}

/** Join accepts an invitation to another company, as the person who is logged in. */
export function Join() {
  const [token, setToken] = useState('');
  return html`<${Head} title="Invitation" about="Join another company with your login." />
    <section class="card narrow"><div class="field"><label for="token">Invitation</label><input id="token" autocomplete="off" spellcheck=${false} value=${token} onInput=${(e) => setToken(e.currentTarget.value)} /></div><p><${Action} primary label="Accept" run=${() => join(token.trim())} /></p></section>`;
}
