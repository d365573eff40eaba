// Module account changes one's own password and second factors, and ends one's own sessions.
import { html, useState } from '../lib/h.js';
import { call, logOut, session, userEmail } from '../lib/api.js';
import { clock } from '../lib/format.js';
import { Confirm } from '../ui/dialog.js';
import { Action, Copy, Head } from '../ui/parts.js';
import { Preferences } from './notices.js';
import { Factors } from './factors.js';

export function Account() {
  const [current, setCurrent] = useState(''), [next, setNext] = useState(''), [ask, setAsk] = useState(false);
  const links = (pointer) => ({ '/current': ['current', 'The password of now'], '/new': ['next', 'The new password'] })[pointer];
  const change = async () => {
    await call('POST', 'auth/password', { body: { current, new: next } });
    logOut();
  };
  const leave = async () => { await call('POST', 'auth/sign-out'); logOut(); };
  const field = (id, label, kind, value, set) => html`<div class="field"><label for=${id}>${label}</label><input id=${id} type="password" autocomplete=${kind} value=${value} onInput=${(e) => set(e.currentTarget.value)} /></div>`;
  return html`<${Head} title="Account" about=${userEmail()} />
    <section class="card narrow"><dl class="facts"><div><dt>Company</dt><dd><code>${session.value.company}</code> <${Copy} quiet text=${session.value.company} /></dd></div>
      <div><dt>This session ends</dt><dd>${clock(session.value.until, false)}</dd></div><div><dt>It may</dt><dd>${[...session.value.scopes].map((s) => html`<code key=${s}>${s}</code> `)}</dd></div></dl></section>
    ${!session.value.enrol && html`<${Preferences} />`}
    <section class="card narrow"><h2>Change the password</h2><p class="muted">Every session ends, this one too. Then log in with the new password.</p>
      ${field('current', 'The password of now', 'current-password', current, setCurrent)}${field('next', 'The new password', 'new-password', next, setNext)}<p><${Action} primary label="Change" run=${change} links=${links} /></p></section>
    ${!session.value.provider && html`<${Factors} />`}
    <section class="card narrow"><h2>Sessions</h2><p class="muted">Ends every session of yours, in every browser and program.</p><p><button type="button" class="danger" onClick=${() => setAsk(true)}>Log out everywhere</button></p></section>
    ${ask && html`<${Confirm} title="Log out everywhere" label="Log out" close=${() => setAsk(false)} run=${leave} consequences=${['Every token of yours ends within seconds, this session too.', 'Programs that use your login must log in again.']} />`}`;
}
