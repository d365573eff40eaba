// Module reset replaces a lost password: it asks for the mail with the code, and sets the new password with it. The code is typed, because
// programs fetch the links of mails.
import { html, useLayoutEffect, useRef, useState } from '../lib/h.js';
import { postPublic } from '../lib/api.js';
import { Trouble } from '../ui/parts.js';

/** useForm returns what a form needs to send something once at a time. */
function useForm(send) {
  const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false), [done, setDone] = useState(false);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    try { await send(); setDone(true); } catch (p) { setProblem(p); }
    setBusy(false);
  };
  return { problem, busy, done, submit };
}

/** Ask asks for the mail with the code. Its answer does not tell whether the address is known. */
export function AskReset() {
  const [email, setEmail] = useState(''), first = useRef(null);
  const form = useForm(() => postPublic('auth/reset', { email: email.trim() }));
  useLayoutEffect(() => { first.current?.focus(); }, []);
  if (form.done) {
    return html`<p role="status">If the address has a login here, a mail with a code is on its way. If none comes, ask the operator of the service for a code.</p>
      <p><a class="button primary wide" href="#/reset">I have the code</a></p>`;
  }
  return html`<form class="stack" onSubmit=${form.submit}>
    <div class="field"><label for="email">E-mail</label><input ref=${first} id="email" type="email" autocomplete="username" required value=${email} onInput=${(e) => setEmail(e.currentTarget.value)} /></div>
    <${Trouble} problem=${form.problem} /><button class="primary wide" disabled=${form.busy}>${form.busy ? 'Asking…' : 'Mail me a code'}</button></form>
    <p><a href="#/reset">I have a code</a></p>`;
}

/** Reset sets the new password with the code of the mail. */
export function Reset() {
  const [code, setCode] = useState(''), [password, setPassword] = useState(''), first = useRef(null);
  const form = useForm(() => postPublic(`auth/reset/${encodeURIComponent(code.trim())}`, { password }));
  useLayoutEffect(() => { first.current?.focus(); }, []);
  if (form.done) return html`<p role="status">The new password is set, and all your sessions have ended.</p><p><a class="button primary wide" href="#/">Log in</a></p>`;
  return html`<form class="stack" onSubmit=${form.submit}>
    <div class="field"><label for="code">Code of the mail</label><input ref=${first} id="code" autocomplete="one-time-code" spellcheck=${false} required value=${code} onInput=${(e) => setCode(e.currentTarget.value)} /></div>
    <div class="field"><label for="password">A new password</label><input id="password" type="password" autocomplete="new-password" required minlength="8" value=${password} onInput=${(e) => setPassword(e.currentTarget.value)} /></div>
    <${Trouble} problem=${form.problem} /><button class="primary wide" disabled=${form.busy}>${form.busy ? 'Setting…' : 'Set the password'}</button></form>
    <p><a href="#/lost">I have no code</a></p>`;
}
