import { test } from 'node:test';
import assert from 'node:assert/strict';
import { bodyOf, fieldAt, fieldsOf, typed } from '../pages/schema.js';

const schema = {
  type: 'object', required: ['url', 'events'],
  properties: {
    description: { type: 'string', maxLength: 500 }, events: { type: 'array', items: { enum: ['memory.created', 'memory.*'] } },
    headers: { type: 'object', additionalProperties: { type: 'string' } }, ordered: { type: 'boolean' }, rateLimit: { type: 'integer', minimum: 1 },
    signingSecret: { type: 'string', writeOnly: true }, url: { type: 'string', format: 'uri', title: 'URL' },
  },
};
const fields = fieldsOf(schema);

test('required fields come first, and each has a control', () => {
  assert.deepEqual(fields.map((f) => `${f.name} ${f.kind}`), [
    'url line', 'events list', 'description line', 'headers pairs', 'ordered switch', 'rateLimit number', 'signingSecret secret',
  ]);
});

test('choices begin with the categories', () => assert.deepEqual(fields[1].choices, ['memory.*', 'memory.created']));

test('a choice of values with titles keeps both', () => {
  const [owner] = fieldsOf({ properties: { owner: { oneOf: [{ const: 'u1', title: 'Ada' }, { const: 'u2', title: 'Grace' }] } } });
  assert.deepEqual([owner.kind, owner.choices, owner.labels], ['choice', ['u1', 'u2'], { u1: 'Ada', u2: 'Grace' }]);
});

test('a configuration survives the form', () => {
  const config = { url: 'https://x.test', events: ['memory.*', 'memory.created'], headers: { 'X-Team': 'a: b' }, rateLimit: 5, ordered: true };
  assert.deepEqual(bodyOf(fields, typed(fields, config)), config);
});

test('an object of numbers is typed as JSON, and a secret object as pairs', () => {
  const both = fieldsOf({ properties: {
    eventVersions: { type: 'object', additionalProperties: { type: 'integer' } }, secretHeaders: { type: 'object', writeOnly: true, additionalProperties: { type: 'string' } },
  } });
  assert.deepEqual(both.map((f) => [f.name, f.kind, f.secret]), [['eventVersions', 'json', false], ['secretHeaders', 'pairs', true]]);
  const config = { eventVersions: { 'memory.created': 1 }, secretHeaders: { Authorization: 'Bearer a: b' } };
  assert.deepEqual(bodyOf(both, typed(both, config)), config);
});

test('an object of objects is typed as JSON, and what is no JSON goes to the service as typed', () => {
  const [tables] = fieldsOf({ properties: { tables: { type: 'object', additionalProperties: { type: 'object' } } } });
  const config = { tables: { kinds: { P1: 'outage' } } };
  assert.equal(tables.kind, 'json');
  assert.deepEqual(bodyOf([tables], typed([tables], config)), config);
  assert.deepEqual(bodyOf([tables], { tables: '{' }), { tables: '{' });
});

test('a list of objects is typed as JSON', () => {
  const [streams] = fieldsOf({ properties: { streams: { type: 'array', items: { type: 'object' } } } });
  const config = { streams: [{ name: 'customers' }] };
  assert.equal(streams.kind, 'json');
  assert.deepEqual(bodyOf([streams], typed([streams], config)), config);
});

test('empty fields are left out, and what is no number goes to the service as typed', () => {
  assert.deepEqual(bodyOf(fields, { ...typed(fields), rateLimit: 'many', events: ' , ' }), { rateLimit: 'many' });
});

test('a pointer leads to its field', () => {
  for (const [pointer, want] of [['/url', 'url'], ['/events/0', 'events'], ['#/body/rateLimit', 'rateLimit'], ['/headers/X~1Y', 'headers'], ['', null], ['/other', null]]) {
    assert.equal(fieldAt(pointer, fields), want, pointer);
  }
});
