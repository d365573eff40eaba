// Module guard binds each write to the version that the page shows. What another person stored since is never replaced unseen.
import { html, useState } from '../lib/h.js';
import { Problem, call } from '../lib/api.js';
import { touched } from '../lib/compare.js';
import { Later } from './later.js';
import { bad } from '../lib/outcome.js';

/** useGuard keeps what an editor shows: {data, etag}. view lists the values of such a thing by their titles.
 *
 * write(mine, send, done) runs send with the entity tag that is shown. If the thing has changed since, it shows the difference, and
 * the person chooses: take theirs, or send again over what there is. A change that view does not show refuses no write. write
 * returns what done returns for the answer. turn changes when the editor must begin again with what is shown. With follow, what is
 * shown is always what the page was given last: for a page without a form. */
export function useGuard({ path, data, etag, view, took, follow }) {
  const [kept, setShown] = useState({ data, etag, turn: 0 }), [clash, setClash] = useState(null), shown = follow ? { data, etag } : kept;
  const write = async (mine, send, done, over = shown) => {
    try {
      const answer = await send(over.etag);
      setClash(null);
      if (answer.etag) setShown((s) => ({ ...s, data: answer.body, etag: answer.etag }));
      return await done(answer);
    } catch (problem) {
      if (problem.status !== 412) throw problem;
      const { body, etag: now } = await call('GET', path), theirs = { data: body, etag: now };
      if (!touched(view(over.data), view(body))) return write(mine, send, done, theirs);
      setClash({ mine, theirs, keep: () => write(mine, send, done, theirs) });
      return bad('Not stored.');
    }
  };
  const take = () => {
    setShown((s) => ({ ...clash.theirs, turn: s.turn + 1 }));
    setClash(null);
    took?.();
  };
  const dialog = clash && html`<${Later} part="Clash" shown=${view(shown.data)} theirs=${view(clash.theirs.data)} mine=${clash.mine} take=${take} keep=${clash.keep} close=${() => setClash(null)} />`;
  return { ...shown, write, dialog };
}

/** asShown runs a write that has no editor. If the thing has changed since it was shown, it calls reload, so that the person
 * decides on what there is. */
export async function asShown(run, reload) {
  try {
    return await run();
  } catch (problem) {
    if (problem.status !== 412) throw problem;
    reload();
    throw new Problem({ title: 'It changed while the page was open', detail: 'Nothing was done. The page now shows it as it is: look, then try again.' }, 412);
  }
}

/** ifMatch returns the header that binds a write to an entity tag. */
export const ifMatch = (etag) => ({ 'If-Match': etag });

/** createOnly is the header of a write that must replace nothing. */
export const createOnly = { 'If-None-Match': '*' };
