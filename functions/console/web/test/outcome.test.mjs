import { test } from 'node:test';
import assert from 'node:assert/strict';
import { outcome, runs } from '../lib/outcome.js';

test('an answer of 200 may bring bad news', () => {
  for (const [operation, body, want] of [
    ['certify-integration', { passed: true }, 'Certified.'], ['certify-integration', { passed: false }, { bad: 'Not certified: see the failed checks.' }],
    ['certify-executive', { passed: false }, { bad: 'Not certified: see the failed checks.' }],
    ['test-integration', { state: 'delivered', status: 204 }, 'Delivered: the endpoint answered 204.'],
    ['test-integration', { state: 'failed', status: 500 }, { bad: 'Not delivered: the endpoint answered 500.' }],
    ['test-integration', { state: 'failed', error: 'timeout' }, { bad: 'Not delivered: timeout.' }],
    ['enable-integration', null, 'Done.'],
  ]) assert.deepEqual(outcome(operation, body), want);
});

test('what needs input or answers with a secret runs only on its own page', () => {
  for (const operation of ['rotate-integration-secret', 'configure-integration', 'put-integration-credentials', 'get-integration', 'invite-user', 'toString']) assert.equal(runs({ operation }), false, operation);
  assert.equal(runs(undefined), false);
  assert.equal(runs({ operation: 'recover-integration' }), true);
});
