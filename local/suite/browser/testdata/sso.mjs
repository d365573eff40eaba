// A person of a company with its own identity provider signs in there, and comes back to the place of the link.
import { everywhere, need, open, settled } from './browser.mjs';

const { BASE, COMPANY, CONFIG, EMAIL, PASSWORD, PROVIDER } = process.env;

/** api sends a request as a program does, to prepare what the page shows. */
async function api(method, path, body, token) {
  const res = await fetch(`${BASE}/${path}`, { method, body, headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) } });
  need(`the status of ${path}`, res.status, 200);
  return res.json();
}

const { access_token: founder } = await api('POST', 'auth/login', JSON.stringify({ email: EMAIL, password: PASSWORD }));
await api('PUT', `companies/${COMPANY}/operations/sso`, CONFIG, founder);

const { browser, page, seen } = await open();
const stored = () => page.evaluate(() => JSON.stringify({ ...sessionStorage, 'orgops.session': undefined })); // of the sign-in alone
const hash = () => new URL(page.url()).hash;
const exchanges = () => seen.requests.filter((url) => url === `${BASE}/auth/token`).length;
const refused = () => page.getByRole('alert').getByText('Copy the request id').waitFor();
try {
  const wanted = '#/timeline?kind=brief';
  await page.goto(`${BASE}/console/${wanted}`);
  await page.getByRole('link', { name: 'Single sign-on' }).click();
  await page.locator('#company:focus').waitFor();
  await page.keyboard.type('nothing');
  await page.keyboard.press('Enter');
  await refused();
  await page.getByRole('alert').getByText('has no single sign-on').waitFor();
  need('what a refused start keeps', await stored(), '{}');
  await everywhere(page, 'single sign-on');

  await page.getByLabel('Company id').fill(COMPANY);
  await page.keyboard.press('Enter');
  await page.locator('aside nav').waitFor();
  await settled(page);
  need('the place after the sign-in', hash(), wanted);
  need('what is kept after the sign-in', await stored(), '{}');
  need('exchanges of a code', exchanges(), 1);
  need('the way through the provider', seen.requests.some((url) => url.startsWith(`${PROVIDER}/authorize?`)), true);

  // The token ends: the provider signs the person in again, at the same place.
  await page.route('**/companies/**', (r) => r.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"title":"Unauthenticated","status":401}' }), { times: 1 });
  await page.evaluate(() => { location.hash = '#/deliveries'; });
  await page.getByRole('dialog').getByText('The session has ended').waitFor();
  await page.getByRole('dialog').locator('button.primary:focus').waitFor();
  await everywhere(page, 'the dialog of a session that has ended');
  const again = page.waitForResponse(`${BASE}/auth/token`); // of the page that follows this one
  await page.keyboard.press('Enter');
  need('the answer to the second code', (await again).status(), 200);
  await page.waitForURL((url) => url.hash === '#/deliveries');
  await page.locator('aside nav').waitFor();
  await settled(page);
  need('exchanges of both codes', exchanges(), 2);
  need('the dialogs after it', await page.getByRole('dialog').count(), 0);
  need('breaches of the policy', await page.evaluate(() => window.breaches), []);

  // The answer to a sign-in that did not begin in this tab is not exchanged, and its code leaves the address.
  await page.locator('aside').getByRole('button', { name: 'Log out' }).click();
  const strange = page.getByRole('alert').getByText('did not begin here');
  const answered = (code, state) => page.evaluate((query) => { // as if this tab had begun the sign-in with the state "mine"
    sessionStorage.setItem('orgops.sign-in', JSON.stringify({ verifier: 'v'.repeat(43), state: 'mine', to: '#/today' }));
    location.hash = `#/sso?${query}`;
  }, new URLSearchParams({ code, state }).toString());
  const login = `${BASE}/console/index.html`;
  for (const [opened, arrive] of [[`${login}#/sso?code=stolen&state=mine`], [login, () => answered('stolen', 'another')]]) {
    await page.goto('about:blank');
    await page.goto(opened);
    await page.getByRole('link', { name: 'password' }).or(page.getByLabel('E-mail')).first().waitFor();
    await arrive?.();
    await strange.waitFor();
    need("the address of a stranger's code", hash(), '#/sso');
    need("what a stranger's code keeps", await stored(), '{}');
    need("exchanges of a stranger's code", exchanges(), 2);
  }

  // The service refuses a code: the page says why.
  await answered('used', 'mine');
  await refused();
  await page.getByRole('alert').getByText('the code is unknown, was used').waitFor();
  need('the address of a refused code', hash(), '#/sso');
  need('what a refused code keeps', await stored(), '{}');

  // The service refuses the provider's answer: the browser comes back to the page, which says why in its own words.
  await page.goto(`${BASE}/auth/sso/callback?state=none&error=access_denied&error_description=from+outside`);
  await page.getByRole('alert').getByText('The sign-in took too long').waitFor();
  need('the address of a refused sign-in', page.url(), `${login}#/sso?refused=again`);
  await page.goto('about:blank');
  await page.goto(`${login}#/sso?refused=text+from+outside`);
  await page.getByRole('alert').getByText('The sign-in failed').waitFor();
  need('what the page shows of the address', await page.getByText('from outside').count(), 0);
  await everywhere(page, 'a refused sign-in');
  need('what must not happen', seen.wrong.filter((what) => !what.includes(`another host: ${PROVIDER}/authorize?`)), []);
} catch (err) {
  console.error(err.message, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 1500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
