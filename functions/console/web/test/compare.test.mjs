import assert from 'node:assert/strict';
import test from 'node:test';
import { differing, touched } from '../lib/compare.js';

test('differing lists what either person changed, added or removed', () => {
  const shown = { Role: 'member', Name: 'Ada', Rules: [1] };
  assert.deepEqual(differing(shown, { Role: 'operator', Rules: [1] }, { Role: 'member', Name: 'Ada', Rules: [2] }), [
    { title: 'Role', shown: 'member', theirs: 'operator', mine: 'member' },
    { title: 'Name', shown: 'Ada', theirs: '–', mine: 'Ada' },
    { title: 'Rules', shown: '[\n 1\n]', theirs: '[\n 1\n]', mine: '[\n 2\n]' },
  ]);
});

test('touched ignores what the editor does not show', () => {
  assert.equal(touched({ URL: 'a', Note: '' }, { URL: 'a' }), false);
  assert.equal(touched({ URL: 'a' }, { URL: 'b' }), true);
});
