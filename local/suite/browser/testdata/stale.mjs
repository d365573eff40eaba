// Two persons edit the same things. What one stored is never replaced unseen, and a creation replaces nothing.
import { need, open, logIn, settled, visit } from './browser.mjs';

const { BASE, COMPANY, EMAIL, PASSWORD } = process.env;
const { browser, page, seen } = await open();
const main = page.locator('main'), dialog = page.getByRole('dialog').last();
const login = await (await fetch(`${BASE}/auth/login`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email: EMAIL, password: PASSWORD }) })).json();

/** other sends a request of the other person. */
async function other(method, path, body, headers = {}) {
  const res = await fetch(`${BASE}/companies/${COMPANY}/${path}`, { method, headers: { Authorization: `Bearer ${login.access_token}`, 'Content-Type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
  if (res.status >= 300) throw new Error(`${method} ${path} of the other person: ${res.status} ${await res.text()}`);
  return res.status === 204 ? null : res.json();
}

const policy = (id) => ({ id, mode: 'log-only', text: 'forbid (principal, action == Action::"goal.update", resource);' });
const cells = async (row) => (await dialog.getByRole('row').filter({ hasText: row }).locator('td').allInnerTexts()).map((t) => t.split('\n')[0]);
const stored = async (path, pick) => pick(await other('GET', path));
const closed = () => page.waitForFunction(() => !document.querySelector('dialog[open]'));

const steps = {
  async policies() {
    await visit(page, '#/operations/policies');
    await page.getByRole('button', { name: 'Add a policy' }).click();
    await other('PUT', 'operations/policies', { policies: [policy('theirs')] });
    await page.getByRole('button', { name: 'Store', exact: true }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the other one', await cells('theirs'), ['theirs', '–', 'log-only', '–']);
    need('the row of mine', await cells('policy-1'), ['policy-1', '–', '–', 'log-only']);
    need('the policies stored meanwhile', await stored('operations/policies', (p) => p.policies.map((one) => one.id)), ['theirs']);
    await dialog.getByRole('button', { name: 'Take theirs, drop mine' }).click();
    await main.getByRole('textbox', { name: 'Text of theirs' }).waitFor();
    await page.getByRole('button', { name: 'Add a policy' }).click();
    await page.getByRole('button', { name: 'Store', exact: true }).click();
    await main.getByText('They decide everywhere').waitFor();
    need('both policies', await stored('operations/policies', (p) => p.policies.map((one) => one.id)), ['theirs', 'policy-2']);
    const changed = await fetch(`${BASE}/companies/${COMPANY}/operations/policies`, { headers: { Authorization: `Bearer ${login.access_token}` } });
    await other('PUT', 'operations/policies', { policies: [policy('later')] }, { 'If-Match': changed.headers.get('ETag') });
    await page.getByRole('button', { name: 'Store', exact: true }).click();
    await dialog.getByRole('button', { name: 'Keep mine and store over it' }).click();
    await closed();
    need('mine over theirs', await stored('operations/policies', (p) => p.policies.map((one) => one.id)), ['theirs', 'policy-2']);
  },
  async configuration() {
    const one = { url: 'https://one.example.com/', events: ['memory.*'] };
    await other('POST', 'integrations/webhook', one);
    await visit(page, '#/integrations/webhook/settings');
    await page.getByLabel('URL').fill('https://mine.example.com/');
    await other('POST', 'integrations/webhook', { ...one, url: 'https://theirs.example.com/' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the address', (await cells('https://')).slice(1), ['https://one.example.com/', 'https://theirs.example.com/', 'https://mine.example.com/']);
    await dialog.getByRole('button', { name: 'Take theirs, drop mine' }).click();
    await page.waitForFunction(() => document.querySelector('#f-url')?.value === 'https://theirs.example.com/');
    await page.getByLabel('URL').fill('https://mine.example.com/');
    await other('POST', 'integrations/webhook/disable'); // which the form does not show
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'webhook', level: 1 }).waitFor();
    await main.getByText('https://mine.example.com/').first().waitFor();
    need('the address that is stored', await stored('integrations/webhook', (i) => i.url), 'https://mine.example.com/');
    await other('POST', 'integrations/webhook/enable');
  },
  async create() {
    await visit(page, '#/connect/webhook');
    await main.getByText('webhook exists already').waitFor();
    await page.getByLabel('URL').fill('https://new.example.com/');
    await page.getByRole('button', { name: 'Configure' }).click();
    await dialog.getByText('https://mine.example.com/').waitFor(); // says what would be replaced
    need('what is stored still', await stored('integrations/webhook', (i) => i.url), 'https://mine.example.com/');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Name').fill('new');
    await page.getByRole('button', { name: 'Configure' }).click();
    await main.getByText('Keep the signing secret now').waitFor();
    need('both', await stored('integrations', ({ items }) => items.map((i) => i.url)), ['https://mine.example.com/', 'https://new.example.com/']);
    await visit(page, '#/integrations');
    await visit(page, '#/connect/webhook');
    await page.getByLabel('URL').fill('https://replaced.example.com/');
    await page.getByRole('button', { name: 'Configure' }).click();
    await dialog.getByRole('textbox').fill('webhook');
    await dialog.getByRole('button', { name: 'Replace it' }).click();
    await page.getByRole('button', { name: 'Run the certification' }).waitFor();
    need('the replaced one', await stored('integrations/webhook', (i) => i.url), 'https://replaced.example.com/');
  },
  async users() {
    const ada = await other('POST', 'operations/users', { email: 'ada@example.com', role: 'member' });
    await visit(page, '#/operations/users');
    const row = main.getByRole('row').filter({ hasText: 'ada@example.com' });
    await row.getByRole('button', { name: 'Change…' }).click();
    await dialog.getByLabel('Role').selectOption('founder');
    await other('PATCH', `operations/users/${ada.id}`, { role: 'operator' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the role', await cells('Role'), ['Role', 'member', 'operator', 'founder']);
    await dialog.getByRole('button', { name: 'Keep mine and store over it' }).click();
    await closed();
    need('the role', await stored(`operations/users/${ada.id}`, (u) => u.role), 'founder');
    await row.getByRole('button', { name: 'Remove…' }).click();
    await dialog.getByRole('textbox').fill('ada@example.com');
    await other('PATCH', `operations/users/${ada.id}`, { role: 'operator' });
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('It changed while the page was open').waitFor();
    await dialog.getByText('The user, operator').waitFor();
    need('the user who is still there', await stored(`operations/users/${ada.id}`, (u) => u.role), 'operator');
    await page.keyboard.press('Escape');
    await closed();
  },
  async mapping() {
    await visit(page, '#/integrations/webhook/mapping');
    const text = page.locator('#mapping'), mine = JSON.parse(await text.inputValue()), theirs = structuredClone(mine);
    mine.rules[0].when = '.payload.type == "mine"';
    theirs.rules[1].when = '.payload.type == "theirs"';
    await text.fill(JSON.stringify(mine));
    await other('PUT', 'integrations/webhook/mapping', theirs);
    await page.getByRole('button', { name: 'Store', exact: true }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the rules that differ', (await dialog.locator('tbody strong').allInnerTexts()), ['Rule 1', 'Rule 2']);
    await dialog.getByRole('button', { name: 'Take theirs, drop mine' }).click();
    need('the mapping on the page', JSON.parse(await text.inputValue()).rules[1].when, theirs.rules[1].when);
  },
  async recommendation() {
    await visit(page, '#/recommendations');
    const card = main.locator('article').filter({ hasText: 'Add a second founder' });
    await card.waitFor();
    const { items } = await other('GET', 'intelligence/recommendations');
    await card.getByRole('button', { name: 'Dismiss…' }).click();
    await dialog.getByRole('textbox').fill('We are fine with one founder');
    await other('POST', `intelligence/recommendations/${items.find((r) => r.title === 'Add a second founder').id}/claim`, undefined, { 'If-Match': '"0"' });
    await dialog.getByRole('button', { name: 'Dismiss', exact: true }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the state', await cells('State'), ['State', 'active', 'claimed', 'dismissed']);
    await dialog.getByRole('button', { name: 'Take theirs, drop mine' }).click();
    await card.getByText('Claimed').waitFor();
  },
  async executive() {
    await visit(page, '#/operations/executives');
    const draft = async (role) => {
      await page.getByLabel('Name').fill('Chief of Staff');
      await page.getByLabel('Role').fill(role);
      await page.getByLabel('Owner').selectOption({ index: 1 });
      await page.getByLabel('Actions a day').fill('10');
      await page.getByRole('button', { name: 'Configure' }).click();
    };
    await draft('Keeps the timeline tidy');
    await page.getByRole('heading', { name: 'Chief of Staff' }).waitFor();
    await visit(page, '#/operations/executives');
    await draft('Replaces the other');
    await main.getByText('Chief of Staff exists already').waitFor();
    need('the role that is stored', await stored('executives', ({ items }) => items[0].role), 'Keeps the timeline tidy');
    await main.getByRole('link', { name: 'Chief of Staff' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).waitFor(); // the list has a field of this name too
    await page.getByLabel('Role').fill('Mine');
    const [one] = (await other('GET', 'executives')).items;
    await other('POST', 'executives', { name: one.name, role: 'Theirs', owner: one.owner, quotaPerDay: 10, actions: [] });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the role', await cells('Keeps the timeline'), ['Role', 'Keeps the timeline tidy', 'Theirs', 'Mine']);
  },
  async clients() {
    const { id } = await other('POST', 'operations/clients', { name: 'Nightly report', purpose: 'Reports', owner: (await other('GET', 'operations/users')).items[0].id, scopes: ['memory:read'] });
    await visit(page, '#/operations/clients');
    await main.getByRole('row').filter({ hasText: 'Nightly report' }).getByRole('button', { name: 'New secret…' }).click();
    await dialog.getByText('It is active now').waitFor();
    await other('PATCH', `operations/clients/${id}`, { disabled: true });
    await dialog.getByRole('button', { name: 'New secret' }).click();
    await dialog.getByText('It changed while the page was open').waitFor();
    await dialog.getByText('It is disabled now').waitFor();
    need('the secrets', await stored(`operations/clients/${id}`, (c) => c.secrets.length), 1);
    await dialog.getByRole('button', { name: 'New secret' }).click();
    await main.getByText('Keep the secret of Nightly report now').waitFor();
    await closed();
    await main.getByRole('row').filter({ hasText: 'Nightly report' }).getByRole('button', { name: 'Enable…' }).click();
    await dialog.getByRole('button', { name: 'Enable' }).click();
    await closed();
    need('the state', await stored(`operations/clients/${id}`, (c) => c.disabled), false);
  },
  async channels() {
    const card = main.locator('section').filter({ has: page.getByRole('heading', { name: 'Mail', exact: true }) }), name = card.getByLabel("Sender's name");
    await visit(page, '#/operations/channels');
    await name.fill('Mine');
    await other('PUT', 'operations/channels/mail', { name: 'Theirs' });
    await card.getByRole('button', { name: 'Store' }).click();
    await card.getByText('nothing was replaced').waitFor();
    need('the name that is stored', await stored('operations/channels/mail', (c) => c.name), 'Theirs');
    await visit(page, '#/today');
    await visit(page, '#/operations/channels');
    await name.fill('Mine');
    await other('PUT', 'operations/channels/mail', { name: 'Theirs, later' });
    await card.getByRole('button', { name: 'Store' }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the name', await cells('Theirs'), ['Name', 'Theirs', 'Theirs, later', 'Mine']);
    await dialog.getByRole('button', { name: 'Keep mine and store over it' }).click();
    await closed();
    const defaults = main.locator('section').filter({ has: page.getByRole('heading', { name: 'Defaults of the company' }) });
    await defaults.getByLabel('Time zone').fill('Europe/Paris');
    const { channels } = await other('GET', 'notices/defaults');
    await other('PUT', 'notices/defaults', { timeZone: 'Europe/Berlin', channels });
    await defaults.getByRole('button', { name: 'Store' }).click();
    await dialog.getByText('Another person changed this').waitFor();
    need('the row of the time zone', await cells('Time zone'), ['Time zone', 'UTC', 'Europe/Berlin', 'Europe/Paris']);
    await dialog.getByRole('button', { name: 'Take theirs, drop mine' }).click();
    need('the time zone', await defaults.getByLabel('Time zone').inputValue(), 'Europe/Berlin');
  },
};

let at = 'the login';
try {
  await logIn(page);
  for (const [name, step] of Object.entries(steps)) {
    at = name;
    await step();
    await settled(page);
  }
  need('what must not happen', seen.wrong, []);
  need('breaches of the policy', await page.evaluate(() => window.breaches), []);
  console.log(`two persons: ${Object.keys(steps).join(', ')}`);
} catch (err) {
  console.error(`${at}: ${err.message}`, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 2500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
