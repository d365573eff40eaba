// Module recoverable counts what a recovery would send. It uses neither the page nor the network.

const most = 5, overdueAfter = 900_000, forPause = new Set(['failing', 'retry-after']);

/** sent reports whether a recovery sends a delivery: of those that are scheduled, what waits for the end of a pause or is overdue. */
const sent = (d, now) => d.state !== 'scheduled' || forPause.has(d.waitingFor) || now - Date.parse(d.nextAttemptAt) > overdueAfter;

/** counted counts a state on at most five pages. A page may be empty and still have a cursor. */
async function counted(read, state, now) {
  let n = 0, cursor;
  for (let page = 0; page < most; page++) {
    const { items, nextCursor } = await read(state, cursor);
    n += items.filter((d) => sent(d, now)).length;
    cursor = nextCursor;
    if (!cursor) break;
  }
  return { n, more: Boolean(cursor) };
}

/** recoverable returns how many deliveries a recovery would send, as far as it looked, and whether there may be more. read returns
 * the page of a state at a cursor. */
export async function recoverable(read, now) {
  const all = await Promise.all(['held', 'failed', 'dead', 'scheduled'].map((state) => counted(read, state, now)));
  return { n: all.reduce((n, a) => n + a.n, 0), more: all.some((a) => a.more) };
}
