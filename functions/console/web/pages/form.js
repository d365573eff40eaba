// Module form draws the fields of a JSON Schema, and links what the server found wrong to them.
import { html, useEffect, useRef, useState } from '../lib/h.js';
import { bodyOf, fieldAt, fieldsOf, typed } from './schema.js';
import { Trouble } from '../ui/parts.js';

/** Field is one labelled control with its explanation and its errors. */
export function Field({ id, field, value, set, errors = [] }) {
  const about = `${id}-about`, wrong = `${id}-wrong`;
  const common = {
    id, name: field.name, required: field.required, 'aria-describedby': `${about}${errors.length ? ` ${wrong}` : ''}`,
    'aria-invalid': errors.length > 0 || undefined, onInput: (e) => set(e.currentTarget.value), value,
  };
  const example = Array.isArray(field.example) ? field.example.join(', ') : typeof field.example === 'object' ? '' : field.example;
  const control = {
    switch: () => html`<input ...${common} value=${undefined} required=${undefined} type="checkbox" checked=${value === true} onInput=${(e) => set(e.currentTarget.checked)} />`,
    choice: () => html`<select ...${common}><option value="">–</option>${field.choices.map((c) => html`<option key=${c} value=${c}>${field.labels[c] ?? c}</option>`)}</select>`,
    list: () => (field.choices ? html`<${Choices} id=${id} field=${field} value=${value} set=${set} about=${common['aria-describedby']} />` : html`<textarea ...${common} rows="2" placeholder=${example ?? ''} spellcheck=${false}></textarea>`),
    pairs: () => html`<textarea ...${common} rows="2" placeholder="Name: value" spellcheck=${false}></textarea>`,
    json: () => html`<textarea ...${common} class="code" rows="4" placeholder="{ … }" spellcheck=${false}></textarea>`,
    text: () => html`<textarea ...${common} rows="3"></textarea>`,
    number: () => html`<input ...${common} type="number" inputmode="numeric" min=${field.least} max=${field.most} placeholder=${example ?? ''} />`,
    secret: () => html`<input ...${common} type="password" autocomplete="new-password" spellcheck=${false} />`,
    line: () => html`<input ...${common} type=${field.format === 'uri' ? 'url' : 'text'} placeholder=${example ?? ''} spellcheck=${false} autocomplete="off" />`,
  }[field.kind]();
  const group = field.kind === 'list' && field.choices;
  return html`<div class="field ${field.kind === 'switch' ? 'inline' : ''}">
    ${group ? html`<span class="label" id=${`${id}-label`}>${field.title}</span>` : html`<label for=${id}>${field.title}${!field.required && html` <small class="muted">optional</small>`}</label>`}
    ${control}
    <small class="muted" id=${about}>${field.about}${field.kind === 'list' && !field.choices ? ' One in each line.' : ''}</small>
    ${errors.length > 0 && html`<p class="wrong" id=${wrong}>${errors.join(' · ')}</p>`}
  </div>`;
}

/** Choices is a list of check boxes, whose value is a text with one choice in each line. */
function Choices({ id, field, value, set, about }) {
  const picked = new Set(value.split('\n').filter(Boolean));
  const toggle = (choice) => {
    if (!picked.delete(choice)) picked.add(choice);
    set(field.choices.filter((c) => picked.has(c)).join('\n'));
  };
  return html`<div class="choices" role="group" id=${id} tabindex="-1" aria-labelledby=${`${id}-label`} aria-describedby=${about}>
    ${field.choices.map((c) => html`<label key=${c}><input type="checkbox" checked=${picked.has(c)} onChange=${() => toggle(c)} /> ${c}</label>`)}
  </div>`;
}

/** SchemaForm is a form for a JSON Schema. What may be left out and is typed as JSON is folded away while it is empty. submit gets the body, and rejects with a Problem whose pointers name fields. children may be a function of one that gives the body so far. */
export function SchemaForm({ schema, config, label, submit, prefix = 'f', children }) {
  const fields = fieldsOf(schema);
  const [form, setForm] = useState(() => typed(fields, config));
  const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false), summary = useRef(null);
  useEffect(() => { if (problem) summary.current?.focus(); }, [problem]);
  const of = (name) => (problem?.errors ?? []).filter((e) => fieldAt(e.pointer, fields) === name).map((e) => e.detail);
  const links = (pointer) => {
    const name = fieldAt(pointer, fields);
    return name && [`${prefix}-${name}`, fields.find((f) => f.name === name).title];
  };
  const send = async (e) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    try { await submit(bodyOf(fields, form)); } catch (p) { setProblem(p); }
    setBusy(false);
  };
  const folded = (f) => f.kind === 'json' && !f.required;
  const control = (f) => html`<${Field} key=${f.name} id=${`${prefix}-${f.name}`} field=${f} value=${form[f.name]} errors=${of(f.name)} set=${(v) => setForm((all) => ({ ...all, [f.name]: v }))} />`;
  return html`<form class="stack" onSubmit=${send} noValidate>
    <div ref=${summary} tabindex="-1" class=${problem ? '' : 'nothing'}><${Trouble} problem=${problem} links=${links} /></div>
    ${fields.filter((f) => !folded(f)).map(control)}
    ${fields.some(folded) && html`<details open=${fields.some((f) => folded(f) && (form[f.name] || of(f.name).length > 0))}><summary>For developers</summary><div class="stack inside">${fields.filter(folded).map(control)}</div></details>`}
    ${typeof children === 'function' ? children(() => bodyOf(fields, form)) : children}
    <p class="row"><button class="primary" disabled=${busy} aria-busy=${busy || undefined}>${busy ? `${label}…` : label}</button></p>
  </form>`;
}
