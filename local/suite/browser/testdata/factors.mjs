// A person enrols a second factor, logs in with it, changes company, and removes it. A company that requires one lets a person in only then.
import { createHmac } from 'node:crypto';
import { everywhere, need, open, settled } from './browser.mjs';

const { BASE, COMPANY, EMAIL, OTHER, PASSWORD } = process.env;

/** code returns the code of a secret at a step of 30 seconds (RFC 6238). */
function code(secret, step) {
  const bits = [...secret].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => Number.parseInt(b, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigInt64BE(BigInt(step));
  const sum = createHmac('sha1', key).update(counter).digest(), at = sum.at(-1) & 15;
  return String((sum.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

const step = () => Math.floor(Date.now() / 30_000);
const { browser, page, seen } = await open();
const hash = () => new URL(page.url()).hash;
const login = async (at = '#/today') => {
  await page.goto('about:blank');
  await page.goto(`${BASE}/console/${at}`);
  await page.locator('#email:focus').waitFor();
  await page.keyboard.type(EMAIL);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
};
const company = () => page.locator('aside select').inputValue();
const logOut = () => page.locator('aside').getByRole('button', { name: 'Log out' }).click();
try {
  // The other company requires a second factor. A deep link names it, and the person can only enrol one.
  await login(`#/timeline?company=${OTHER}`);
  await page.getByText('Your company requires a second factor').waitFor();
  await settled(page);
  await everywhere(page, 'an enrolment that a company requires');
  await page.getByLabel('Name of the device').fill('Phone');
  await page.getByRole('button', { name: 'Add an authenticator app' }).click();
  const secret = await page.locator('#factors code.block').innerText();
  need('the address for the app', (await page.getByRole('link', { name: 'add it here' }).getAttribute('href')).startsWith(`otpauth://totp/Mission%20Control:${EMAIL}?`), true);
  need('dark squares of the picture', /^(M\d+ \d+h1v1h-1z){600,}$/.test(await page.getByRole('img', { name: 'QR code of the secret' }).locator('path').getAttribute('d')), true);
  await page.getByLabel('The code that the app shows').fill('12345');
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('alert').getByText('is not the code of now').waitFor();
  await everywhere(page, 'an enrolment with a wrong code');
  let used = step();
  await page.getByLabel('The code that the app shows').fill(code(secret, used));
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('Store these recovery codes').waitFor();
  const recovery = await page.locator('#factors .codes code').allInnerTexts();
  need('recovery codes', recovery.length, 10);
  await everywhere(page, 'recovery codes');
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await settled(page);
  need('the place after the enrolment', hash(), `#/timeline?company=${OTHER}`);

  // The session that has proved the factor changes company, and a reload keeps it.
  need('the company', await company(), OTHER);
  await page.locator('aside select').selectOption(COMPANY);
  await page.waitForURL((url) => url.hash === '#/'); // the page begins again there
  await page.locator('a.brand', { hasText: 'Acme' }).waitFor();
  need('the company after the change', await company(), COMPANY);
  await page.goto(`${BASE}/console/#/health?company=${OTHER}`);
  await page.getByRole('button', { name: /^Go to / }).waitFor();
  await everywhere(page, 'a place of another company');
  await page.getByRole('button', { name: /^Go to / }).click();
  await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor(); // the page begins again there
  await page.locator('a.brand', { hasText: 'Beta' }).waitFor();
  await settled(page);
  need('the company of the link', await company(), OTHER);

  // A login needs the next code now, or a recovery code.
  await logOut();
  await login();
  await page.locator('#code:focus').waitFor();
  await everywhere(page, 'the second step of a login');
  await page.keyboard.type(code(secret, used));
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('the code is wrong, was used').waitFor();
  await page.locator('#code').fill(code(secret, Math.max(step(), used + 1)));
  await page.keyboard.press('Enter');
  await page.locator('aside nav').waitFor();
  await logOut();
  await login('#/account');
  await page.locator('#code:focus').waitFor();
  await page.keyboard.type(recovery[0].toLowerCase());
  await page.keyboard.press('Enter');
  await page.getByText('9 recovery codes are left').waitFor();
  await everywhere(page, 'the account with a second factor');
  await page.getByRole('button', { name: 'New recovery codes' }).click();
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await page.getByText('10 recovery codes are left').waitFor();

  // An answer as to an old login asks for the login again, with the factor, and goes on.
  const fresh = [];
  await page.route('**/auth/factors/*', (r) => r.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"title":"Unauthenticated","status":401}' }), { times: 1 });
  page.on('response', (r) => { if (r.url().includes('/auth/factors/') && r.request().method() === 'DELETE') fresh.push(r.status()); });
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByText('Log in again for this').waitFor();
  await page.locator('#password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.locator('#code').fill(recovery[0]);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('the code is wrong, was used').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Log out instead' }).click();
  await page.locator('#email').waitFor();
  need('answers to the removal', fresh, [401]);
  need('breaches of the policy', await page.evaluate(() => window.breaches), []);
  need('what must not happen', seen.wrong, []);
} catch (err) {
  console.error(err.message, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 1500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
