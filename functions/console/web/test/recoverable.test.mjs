import { test } from 'node:test';
import assert from 'node:assert/strict';
import { recoverable } from '../pages/recoverable.js';

/** pages reads from lists of pages by their states. */
const pages = (of) => async (state, cursor = '0') => {
  const all = of[state] ?? [[]], at = Number(cursor);
  return { items: all[at], ...(at + 1 < all.length && { nextCursor: String(at + 1) }) };
};
const held = { state: 'held' }, now = Date.UTC(2026, 0, 1), count = (of) => recoverable(pages(of), now);

test('a count follows the cursor of an empty page', async () => assert.deepEqual(await count({ held: [[], [], [held, held]] }), { n: 2, more: false }));

test('a count says that there may be more where it stops', async () => {
  assert.deepEqual(await count({ failed: Array(6).fill([]) }), { n: 0, more: true });
  assert.deepEqual(await count({ failed: Array(5).fill([]) }), { n: 0, more: false });
});

test('a count holds what waits for the end of a pause or is overdue', async () => {
  const due = (minutes, waitingFor) => ({ state: 'scheduled', waitingFor, nextAttemptAt: new Date(now - minutes * 60_000).toISOString() });
  assert.deepEqual(await count({ scheduled: [[due(-5, 'failing'), due(-5, 'retry-after'), due(16, 'backlog')]] }), { n: 3, more: false });
  assert.deepEqual(await count({ scheduled: [[due(-5, 'schedule'), due(14, 'backlog')]] }), { n: 0, more: false });
});
