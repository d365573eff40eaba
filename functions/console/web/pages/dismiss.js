// Module dismiss asks why a recommendation is dismissed.
import { html, useState } from '../lib/h.js';
import { sentence, words } from '../lib/format.js';
import { Dialog } from '../ui/dialog.js';
import { Choice, Trouble } from '../ui/parts.js';

const reasons = ['not-applicable', 'accepted-risk', 'other-method', 'low-priority', 'planned', 'other'];

/** Dismiss asks for the reason of a dismissal. */
export function Dismiss({ run, close }) {
  const [reason, setReason] = useState('planned'), [text, setText] = useState(''), [problem, setProblem] = useState(null);
  const submit = async (e) => {
    e.preventDefault();
    try { await run({ reason, text }); close(); } catch (p) { setProblem(p); }
  };
  return html`<${Dialog} title="Dismiss the recommendation" close=${close}><form onSubmit=${submit}>
    <p>It stays away for at most 90 days, and comes back earlier if the matter gets worse. No score changes.</p>
    <${Choice} label="Reason" value=${reason} options=${reasons.map((r) => [r, sentence(words(r))])} onPick=${setReason} />
    <label class="field"><span>Why, in your words</span><textarea rows="3" required minlength="10" value=${text} onInput=${(e) => setText(e.currentTarget.value)}></textarea></label>
    <${Trouble} problem=${problem} /><p class="row end"><button type="button" onClick=${close}>Cancel</button><button class="primary">Dismiss</button></p></form><//>`;
}
