import { test } from 'node:test';
import assert from 'node:assert/strict';
import { parse, place, placeOf, remedyPlace, subjectPlace } from '../lib/places.js';

test('a place survives its hash', () => {
  const hash = place(['integrations', 'webhook-a b'], { state: 'held', event: '' });
  assert.equal(hash, '#/integrations/webhook-a%20b?state=held');
  assert.deepEqual(parse(hash), { path: ['integrations', 'webhook-a b'], query: { state: 'held' } });
  assert.deepEqual(parse('#/%zz'), { path: ['%zz'], query: {} });
});

test('an address of the API has a place, below any base path', () => {
  for (const [href, want] of [
    ['/companies/c/integrations/webhook/deliveries?state=held', '#/integrations/webhook/deliveries?state=held'],
    ['/live/companies/c/goals/g', '#/goals/g'], ['/companies/c/mission-control/health', '#/health'], ['/companies/c/memory/syncs/r', '#/syncs/r'],
    ['/companies/c/executives/e/actions/a', '#/operations/executives/e'], ['/companies/c/event-types/memory.created', '#/events/memory.created'],
    ['/companies/c/notices?state=failed', '#/operations/notices?state=failed'], ['/companies/c/notices/preferences', '#/account'], ['/companies/c/nothing', null], ['https://evil.test/', null], [undefined, null],
  ]) assert.equal(placeOf(href), want, href);
});

test('a remedy leads to where it is carried out', () => {
  const of = (operation, href) => remedyPlace({ operation, href });
  assert.equal(of('certify-integration', '/companies/c/integrations/webhook/certification'), '#/integrations/webhook/certification');
  assert.equal(of('recover-integration', '/companies/c/integrations/webhook/recover'), '#/integrations/webhook/deliveries');
  assert.equal(of('configure-integration', '/companies/c/integrations/{provider}'), '#/integrations/%7Bprovider%7D/settings');
});

test('what an entry is about has a place, if the console shows it', () => {
  for (const [subject, want] of [
    [{ type: 'integration', id: 'webhook-a' }, '#/integrations/webhook-a'], [{ type: 'goal', id: 'g' }, '#/goals/g'], [{ type: 'sync', id: 's' }, '#/syncs/s'],
    [{ type: 'executive', id: 'e' }, '#/operations/executives/e'], [{ type: 'approval', id: 'a' }, '#/operations/approvals'],
    [{ type: 'note', id: 'n' }, null], [undefined, null],
  ]) assert.equal(subjectPlace(subject), want, subject?.type);
});
