import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { drawn } from '../pages/qr.js';

// The rows of this code are those that two other programs make: qrcode 8 of PyPI and uqr 0.1.3 of npm.
test('an address for an authenticator app is the code that other programs draw', () => {
  const { size, path } = drawn('otpauth://totp/Mission%20Control:ada@example.com?issuer=Mission%20Control&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  assert.equal(size, 45 + 2 * 4);
  const rows = Array.from({ length: 45 }, () => Array(45).fill('0'));
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) rows[y - 4][x - 4] = '1';
  assert.equal(createHash('sha256').update(rows.map((r) => r.join('')).join('\n')).digest('hex'), 'b8c2b9e47f2d5a986e528b062a1545b26b71cdc49dc558c64a41fb4ffe728d4e');
});

test('the longest address fits', () => assert.ok(drawn(`otpauth://totp/${'a'.repeat(1200)}`).size > 100));
