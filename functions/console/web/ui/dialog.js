// Module dialog holds the dialogs: a frame, and the confirmation of what cannot be undone.
import { html, useLayoutEffect, useRef, useState } from '../lib/h.js';
import { Trouble } from './parts.js';

/** Dialog shows its content above the page. Escape closes it, unless close is missing. */
export function Dialog({ title, close, wide, children }) {
  const ref = useRef(null);
  // Before the next key is handled: what a founder types after the key that opens the dialog belongs to the dialog.
  useLayoutEffect(() => {
    const d = ref.current, before = document.activeElement;
    if (!d.open) d.showModal();
    return () => { d.close(); before?.focus?.(); };
  }, []);
  const cancel = (e) => { e.preventDefault(); close?.(); };
  return html`<dialog ref=${ref} class=${wide ? 'broad' : ''} onCancel=${cancel} aria-labelledby="dialog-title">
    <div class="row spread"><h2 id="dialog-title">${title}</h2>${close && html`<button type="button" class="quiet small" onClick=${close}>Close</button>`}</div>
    ${children}
  </dialog>`;
}

/** Confirm lists what follows, and asks for a name to be typed before it runs. */
export function Confirm({ title, consequences, name, label, run, close, children }) {
  const [text, setText] = useState(''), [problem, setProblem] = useState(null), [busy, setBusy] = useState(false);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    try { await run(); close(); } catch (p) { setProblem(p); setBusy(false); }
  };
  return html`<${Dialog} title=${title} close=${close}><form onSubmit=${submit}>
    <ul>${consequences.map((c) => html`<li key=${c}>${c}</li>`)}</ul>${children}
    ${name && html`<label class="field"><span>Type <code>${name}</code> to confirm</span><input value=${text} onInput=${(e) => setText(e.currentTarget.value)} autocomplete="off" spellcheck=${false} /></label>`}
    <${Trouble} problem=${problem} />
    <p class="row end"><button type="button" onClick=${close}>Cancel</button><button class="danger" disabled=${busy || (name && text !== name)}>${label}</button></p>
  </form><//>`;
}
