import { test } from 'node:test';
import assert from 'node:assert/strict';
import { grouped } from '../lib/kinds.js';

const one = (provider, kind, status, more) => ({ provider, kind, enabled: true, state: 'certified', health: { status }, ...more });

test('the worst kind and the worst integration come first', () => {
  const groups = grouped([
    one('feed', 'feed', 'pass'), one('feed-b', 'feed', 'warn'), one('github', 'github', 'pass'), one('github-x', 'github', 'fail'), one('hmac', 'hmac', 'unknown', { state: 'sandbox' }),
    one('webhook', 'webhook', 'pass', { paused: {} }), one('github-off', 'github', 'unknown', { enabled: false }),
  ]);
  assert.deepEqual(groups.map((g) => [g.kind, ...g.items.map((i) => i.provider)]), [
    ['webhook', 'webhook'], ['github', 'github-x', 'github-off', 'github'], ['feed', 'feed-b', 'feed'], ['hmac', 'hmac'],
  ]);
});
