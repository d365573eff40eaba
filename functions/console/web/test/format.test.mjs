import { test } from 'node:test';
import assert from 'node:assert/strict';
import { age, clock, counted, curl, differences, plural, relative, safeLink, span } from '../lib/format.js';

test('a span has one rounded unit', () => {
  for (const [seconds, want] of [[1, '1 second'], [59, '59 seconds'], [59.4, '59 seconds'], [59.6, '1 minute'], [3569, '59 minutes'], [3599, '1 hour'], [172_799, '2 days'], [90, '2 minutes'], [7200, '2 hours'], [172_800, '2 days'], [-3600, '1 hour']]) assert.equal(span(seconds), want);
});

test('a relative time looks both ways', () => {
  assert.equal(relative(0, 2000), 'just now');
  assert.equal(relative(0, 300_000), '5 minutes ago');
  assert.equal(relative(300_000, 0), 'in 5 minutes');
});

test('an age counts up, and what was left says that it has ended', () => {
  assert.equal(age(0, 432_000_000), '5 days');
  assert.equal(age(0, 432_000_000, true), '5 days ago');
  assert.equal(age(432_000_000, 0, true), 'in 5 days');
  assert.equal(age(432_000_000, 0), 'in 5 days');
});

test('a clock in UTC says so', () => assert.equal(clock(0, true), '1970-01-01 00:00:00 UTC'));

test('a plural counts', () => {
  assert.equal(plural(1, 'delivery', 'deliveries'), '1 delivery');
  assert.equal(plural(1200, 'delivery', 'deliveries'), '1,200 deliveries');
});

test('a curl command holds no token and quotes what a shell would read', () => {
  assert.equal(curl('GET', 'https://x.test/a'), `curl 'https://x.test/a' -H "Authorization: Bearer $TOKEN"`);
  assert.match(curl('POST', 'https://x.test', { a: "it's $HOME" }), /-d '\{"a":"it'\\''s \$HOME"\}'$/);
});

test('only http and https become links', () => {
  assert.equal(safeLink('https://example.com/a'), 'https://example.com/a');
  for (const text of ['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', '//example.com', 'nothing', '']) assert.equal(safeLink(text), null, text);
});

test('differences are the fields of data.previous', () => {
  assert.deepEqual(differences({ a: 2, b: 1, previous: { a: 1 } }), [{ field: 'a', before: 1, after: 2 }]);
  assert.deepEqual(differences({ a: 2 }), []);
});

test('counted makes the singular of a noun that is given in the plural', () => {
  assert.equal(counted(1, 'pages'), '1 page');
  assert.equal(counted(2, 'pages'), '2 pages');
  assert.equal(counted(0, 'pages'), '0 pages');
  assert.equal(counted(1, 'deliveries'), '1 delivery');
  assert.equal(counted(1, 'days left'), '1 day left');
  assert.equal(counted(1, 'memories'), '1 memory');
  assert.equal(counted(1, 'HTTP status'), '1 HTTP status');
  assert.equal(counted(1500, 'policies'), '1,500 policies');
});
