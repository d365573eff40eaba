// Module login is the first page, and the dialog that asks for the password again.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/h.js';
import { accept, lapsed, logIn, logOut, prove, session, userEmail } from '../lib/api.js';
import { signWithPasskey } from '../lib/passkey.js';
import { place } from '../lib/places.js';
import { go, route } from '../lib/route.js';
import { Trouble } from '../ui/parts.js';
import { Dialog } from '../ui/dialog.js';
import { Later } from '../ui/later.js';

function Form({ fixed, label }) {
  const [email, setEmail] = useState(fixed ?? ''), [password, setPassword] = useState('');
  const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false), [challenge, setChallenge] = useState(null), first = useRef(null);
  useLayoutEffect(() => { first.current?.focus(); }, []); // before the next key is handled
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    try { await logIn(email.trim(), password, fixed ? session.value.company : route.value.query.company); } catch (p) { if (p.challenge) setChallenge(p.challenge); else setProblem(p); setBusy(false); }
  };
  if (challenge) return html`<${Second} challenge=${challenge} email=${email.trim()} back=${() => setChallenge(null)} />`;
  return html`<form class="stack" onSubmit=${submit}>
    <div class="field"><label for="email">E-mail</label><input ref=${fixed ? null : first} id="email" type="email" autocomplete="username" required readonly=${Boolean(fixed)} value=${email} onInput=${(e) => setEmail(e.currentTarget.value)} /></div>
    <div class="field"><label for="password">Password</label><input ref=${fixed ? first : null} id="password" type="password" autocomplete="current-password" required value=${password} onInput=${(e) => setPassword(e.currentTarget.value)} /></div>
    <${Trouble} problem=${problem} />
    <button class="primary wide" disabled=${busy}>${busy ? 'Logging in…' : label}</button>
  </form>`;
}

/** Second asks for the second factor, after the right password: a passkey, or a code. */
function Second({ challenge, email, back }) {
  const [code, setCode] = useState(''), [problem, setProblem] = useState(null), [busy, setBusy] = useState(false), first = useRef(null);
  useLayoutEffect(() => { first.current?.focus(); }, []);
  const send = async (answer) => {
    setBusy(true);
    setProblem(null);
    try { await prove(challenge.id, await answer(), email); } catch (p) { setProblem(p); setBusy(false); }
  };
  const submit = (e) => { e.preventDefault(); return send(() => ({ code: code.trim() })); };
  const sign = async () => ({ credential: await signWithPasskey(challenge.publicKey) });
  return html`<form class="stack" onSubmit=${submit}>
    ${challenge.publicKey && html`<button ref=${first} type="button" class="primary wide" disabled=${busy} onClick=${() => send(sign)}>Use a passkey</button>`}
    <div class="field"><label for="code">${challenge.factors.includes('totp') ? 'Code of your authenticator app, or a recovery code' : 'A recovery code'}</label><input ref=${challenge.publicKey ? null : first} id="code" autocomplete="one-time-code" autocapitalize="none" spellcheck=${false} required value=${code} onInput=${(e) => setCode(e.currentTarget.value)} /></div>
    <${Trouble} problem=${problem} />
    <button class="${challenge.publicKey ? '' : 'primary'} wide" disabled=${busy}>${busy ? 'Logging in…' : 'Go on'}</button>
    <button type="button" class="quiet" onClick=${back}>Begin again</button>
  </form>`;
}

/** Invitation exchanges an invitation for a password of one's own. */
function Invitation() {
  const [token, setToken] = useState(''), [password, setPassword] = useState(''), [problem, setProblem] = useState(null), [busy, setBusy] = useState(false);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    try { await accept(token.trim(), password); go('#/'); } catch (p) { setProblem(p); setBusy(false); }
  };
  return html`<form class="stack" onSubmit=${submit}>
    <div class="field"><label for="token">Invitation</label><input id="token" autocomplete="off" spellcheck=${false} required value=${token} onInput=${(e) => setToken(e.currentTarget.value)} /></div>
    <div class="field"><label for="password">A new password</label><input id="password" type="password" autocomplete="new-password" required minlength="8" value=${password} onInput=${(e) => setPassword(e.currentTarget.value)} /></div>
    <${Trouble} problem=${problem} /><button class="primary wide" disabled=${busy}>${busy ? 'Accepting…' : 'Accept'}</button></form>`;
}

const back = html`<p><a href="#/">I have an account: log in</a></p>`;

/** Ways shows the way to log in that the place names. The link to the provider keeps the place that the person wanted. */
function Ways({ path: [head] }) {
  if (head === 'invitation') return html`<${Invitation} />${back}`;
  if (head === 'reset' || head === 'lost') return html`<${Later} key=${head} part=${head === 'lost' ? 'AskReset' : 'Reset'} />${back}`;
  if (head === 'sso') return html`<${Later} file="sso" part="SignOn" />`;
  return html`<${Form} label="Log in" /><p><a href=${place(['sso'], { to: location.hash })}>Single sign-on</a></p><p><a href="#/invitation">I have an invitation</a></p><p><a href="#/lost">I have lost my password</a></p>`;
}

/** Login is the page of somebody who is not logged in. */
export function Login() {
  useEffect(() => { document.title = 'Log in · Mission Control'; }, []);
  return html`<main class="login" id="main" tabindex="-1">
    <div class="card"><img src="icon.svg" alt="" width="44" height="44" /><h1>Mission Control</h1>
      <p class="muted">How your organization runs, and what to do next.</p>
      <${Ways} path=${route.value.path} />
      <p class="muted fine">The session belongs to this tab. It survives a reload, and ends when you log out, close the tab, or after an hour.</p>
    </div></main>`;
}

/** Relogin asks for the password when the token has ended. What was typed on the page stays. Who came by the company's provider
 * leaves the page to sign in there. */
export const Relogin = () => html`<${Dialog} title=${lapsed.value}>${session.value.provider ? html`<${Later} file="sso" part="Again" />` : html`<p>Log in to go on. What you typed on the page is still there.</p>
  <${Form} fixed=${userEmail()} label="Go on" />`}<p class="row end"><button type="button" class="quiet" onClick=${logOut}>Log out instead</button></p><//>`;
