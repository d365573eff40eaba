// Module company takes a company's data away, and ends the company.
import { html, useRef, useState } from '../lib/h.js';
import { call, session } from '../lib/api.js';
import { number, plural } from '../lib/format.js';
import { useLive } from '../lib/live.js';
import { Confirm } from '../ui/dialog.js';
import { Action, Await, Copy, Curl, Status, Time } from '../ui/parts.js';

/** next returns the address in a Link header (RFC 8288) of the page that follows. */
const next = (link) => /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];

/** save gives the browser a file to store. */
function save(parts, name) {
  const url = URL.createObjectURL(new Blob(parts, { type: 'application/jsonl' })), a = document.createElement('a');
  Object.assign(a, { href: url, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser has begun to read it by then
}

/** Export reads everything that the company has, page by page, and stores it as one file. */
export function Export() {
  const [read, setRead] = useState(null), stop = useRef(false);
  const run = async () => {
    const parts = [];
    let lines = 0, bytes = 0;
    stop.current = false;
    for (let at = 'operations/export'; at;) {
      const { text, link } = await call('GET', at);
      parts.push(text);
      lines += text.split('\n').length - 1;
      bytes += text.length;
      setRead({ lines, bytes });
      at = next(link);
      if (stop.current) { setRead(null); return 'Stopped. Nothing was stored.'; }
    }
    setRead(null);
    save(parts, `${session.value.company}.jsonl`);
    return `${plural(lines, 'item')} in ${session.value.company}.jsonl.`;
  };
  return html`<section class="card narrow"><h2>Export</h2><p>Everything that the company has, one JSON text in each line: configuration, users, memories, goals, timeline, deliveries, decisions and audit records. It holds no secrets: no passwords, signing secrets or credentials.</p>
    <p>The operator of another deployment imports the file with <code>orgops admin company import</code>.</p>
    <p class="row"><${Action} primary label="Export" run=${run} />${read && html`<button type="button" onClick=${() => { stop.current = true; }}>Stop</button>`}<${Curl} path="operations/export" /></p>
    ${read && html`<p class="muted" role="status">${plural(read.lines, 'item')}, ${number(read.bytes / 1e6)} MB so far</p>`}</section>`;
}

/** Erasure asks for the end of the company, which another person has to approve. */
export function Erasure() {
  const live = useLive('intelligence/context', { poll: false }), [ask, setAsk] = useState(false), [receipt, setReceipt] = useState(null);
  return html`<${Await} of=${live}>${({ company }) => {
    const run = async () => { setReceipt((await call('POST', 'operations/erasure', { body: { name: company.name } })).body); };
    return html`<section class="card narrow"><h2>Erase the company</h2>
      <p>A founder asks, and another founder or an operator approves within 24 hours. Then the company is suspended for good, its key is destroyed, and its users and items are removed. Nothing brings them back.</p>
      <p><a href="#/operations/export">Export the company</a> before.</p><p><button type="button" class="danger" onClick=${() => setAsk(true)}>Ask for the erasure…</button></p>
      ${receipt && html`<div class="note" role="status"><p><${Status} of=${receipt.approval.state} /> The erasure waits for <a href="#/operations/approvals">the answer of another person</a>, until <${Time} at=${receipt.approval.expiresAt} />.</p><p class="row"><code>${receipt.approval.id}</code><${Copy} quiet text=${receipt.approval.id} label="Copy the approval's id" /></p></div>`}</section>
      ${ask && html`<${Confirm} title="Ask for the erasure" name=${company.name} label="Ask" close=${() => setAsk(false)} run=${run} consequences=${['Nothing is erased before another person approves it.', 'You can withdraw the request until then.', 'After the approval every token is refused, and nothing can be undone.']} />`}`;
  }}<//>`;
}
