// What founders do every day: connect what is unusual, try a mapping, find a memory, look at the deliveries of all endpoints, go back.
import { everywhere, logIn, looked, need, open, settled, visit } from './browser.mjs';

const { BASE, COMPANY, EMAIL, PASSWORD } = process.env;
const { browser, page, seen } = await open({ height: 600 });
const main = page.locator('main');
const login = await (await fetch(`${BASE}/auth/login`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email: EMAIL, password: PASSWORD }) })).json();

/** api sends a request next to the page. */
async function api(method, path, body, headers = {}) {
  const res = await fetch(`${BASE}/companies/${COMPANY}/${path}`, { method, headers: { Authorization: `Bearer ${login.access_token}`, 'Content-Type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
  if (res.status >= 300) throw new Error(`${method} ${path}: ${res.status} ${await res.text()}`);
  return res.status === 204 ? null : res.json();
}

const steps = {
  async today() { // what needs attention before there is an integration
    await visit(page, '#/today');
    const needs = main.getByRole('heading', { name: 'Needs attention' });
    await main.getByRole('heading', { name: 'Do next' }).waitFor();
    need('the attention that a new company asks for', await needs.count(), 0);
    await page.route('**/mission-control/dashboard', async (r) => {
      const response = await r.fetch(), json = await response.json();
      json.widgets.find((w) => w.id === 'attention').data = { total: 1, items: [{ title: 'Review Ship', text: 'Review Ship.', severity: 'high', subject: { type: 'goal', id: 'g' }, evidence: [`/companies/${COMPANY}/goals/g`] }] };
      await r.fulfill({ response, json });
    });
    await page.reload();
    await needs.waitFor();
    await main.locator('.headline').waitFor();
    await main.getByRole('link', { name: 'Review Ship' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  },
  async array() { // a document that is itself the list
    await visit(page, '#/connect/http');
    await page.getByLabel('URL').fill('https://api.example.com/okrs');
    await page.getByLabel('Id', { exact: true }).fill('/key');
    await page.getByLabel('Title', { exact: true }).fill('/name');
    await page.getByLabel('Target').selectOption('goal');
    await page.getByRole('button', { name: 'Configure' }).click();
    await page.getByRole('button', { name: 'Run the certification' }).waitFor();
    need('the path of the list', (await api('GET', 'integrations/http')).config.itemsPath, '');
  },
  async github() { // takes the token at once, and the certification leads to what is missing
    await visit(page, '#/connect/github');
    await page.getByLabel('Repository').fill('octo/app');
    await page.getByLabel('Webhook secret').fill('as typed at GitHub');
    await page.getByRole('group', { name: 'Credentials' }).getByLabel('token', { exact: false }).fill('ghp_example');
    await page.getByRole('button', { name: 'Configure' }).click();
    await page.getByRole('button', { name: 'Run the certification' }).waitFor();
    need('the stored credentials', (await api('GET', 'integrations/github')).credentials.names, ['token']);
    await api('DELETE', 'integrations/http');
    await api('POST', 'integrations/linear', { signingSecret: 'lin_wh_example' });
    await visit(page, '#/integrations/linear/certification');
    await page.getByRole('button', { name: 'Run the certification' }).click();
    await main.locator('.checks .remedy a').first().click();
    await page.getByRole('heading', { name: 'Credentials' }).waitFor();
  },
  async advice() { // what answers with a secret leads to its page, and bad news is no success
    const at = `/companies/${COMPANY}/integrations/github`;
    const one = (rule, operation, href) => ({ id: rule, rule, title: rule, rationale: 'It is time.', priority: 'P2', state: 'active', version: 0, firstSeenAt: '2026-01-01T00:00:00Z', evidence: [], subject: { type: 'integration', id: 'github' }, operation: { operation, method: 'POST', href } });
    await page.route('**/intelligence/recommendations?*', (r) => r.fulfill({ json: { items: [one('rotate-secret', 'rotate-integration-secret', `${at}/secret`), one('certify-integration', 'certify-integration', `${at}/certification`)] } }));
    await page.route('**/integrations/github/certification', (r) => r.fulfill({ json: { passed: false, state: 'sandbox', checks: [] } }));
    await visit(page, '#/recommendations');
    const card = (rule) => main.locator('article').filter({ hasText: rule });
    await card('certify-integration').getByRole('button', { name: 'Certify', exact: true }).click();
    await card('certify-integration').getByText('Not certified: see the failed checks.').waitFor();
    await page.route('**/integrations/github/certification', (r) => r.fulfill({ json: { passed: true, state: 'certified', checks: [] } }));
    await page.route('**/intelligence/recommendations?*', (r) => r.fulfill({ json: { items: [one('rotate-secret', 'rotate-integration-secret', `${at}/secret`)] } })); // the list without it
    await card('certify-integration').getByRole('button', { name: 'Certify', exact: true }).click();
    await card('certify-integration').waitFor({ state: 'detached' });
    await main.getByRole('status').getByText('certify-integration: Certified.').waitFor();
    need('the buttons that rotate a secret', await card('rotate-secret').getByRole('button', { name: 'Rotate the secret' }).count(), 0);
    await card('rotate-secret').getByRole('link', { name: 'Rotate the secret' }).click();
    await page.getByRole('heading', { name: 'Switches' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  },
  async mapping() { // a pasted body, the fields that come out, and a draft that stays
    await visit(page, '#/integrations/github/mapping');
    await main.getByText('Try it on a body of your own').click();
    await page.getByLabel('Body, JSON').fill(JSON.stringify({ action: 'opened', repository: { full_name: 'octo/app' }, issue: { number: 7, title: 'Printer on fire', state: 'open', html_url: 'https://github.com/octo/app/issues/7' } }));
    await page.getByLabel('Headers').fill('X-GitHub-Event: issues');
    await page.getByRole('button', { name: 'Try on the pasted body' }).click();
    await main.getByRole('status').getByText('Printer on fire').waitFor();
    await visit(page, '#/today');
    await visit(page, '#/integrations/github/mapping');
    await main.getByText('This is your draft').waitFor();
    need('the draft of the body', (await page.getByLabel('Body, JSON').inputValue()).includes('Printer on fire'), true);
    await main.getByRole('button', { name: 'Drop it' }).click();
    await main.getByText('This is your draft').waitFor({ state: 'detached' });
  },
  async memory() { // the newest first, by a part of the title, and Back to the same place
    const inbound = await api('POST', 'integrations/webhook', { url: 'https://one.example.com/', events: ['memory.*'] }, { 'If-None-Match': '*' });
    await api('POST', 'integrations/webhook/disable');
    need('a new endpoint', typeof inbound.signingSecret, 'string');
    await page.route('**/memory?*', (r) => { // 120 memories, in the order of their ids
      const title = new URL(r.request().url()).searchParams.get('title') ?? '', second = r.request().url().includes('cursor=');
      const all = Array.from({ length: 120 }, (_, n) => ({ id: `m${n}`, provider: 'github', kind: 'issue', title: `Memory ${(n * 7) % 120}`, updatedAt: new Date(Date.UTC(2026, 0, 1) + ((n * 7) % 120) * 60_000).toISOString() })).filter((m) => m.title.includes(title));
      return r.fulfill({ json: { items: second ? all.slice(100) : all.slice(0, 100), ...(!second && all.length > 100 && { nextCursor: 'next' }) } });
    });
    await page.route(/\/memory\/m\d+$/, (r) => r.fulfill({ json: { id: 'm1', provider: 'github', kind: 'issue', title: 'One', externalId: '1', createdAt: '2026-01-01T00:00:00Z', updatedAt: '2026-01-01T00:00:00Z' } }));
    await visit(page, '#/memory');
    await main.getByRole('link', { name: 'Memory 119', exact: true }).waitFor();
    need('the newest first', (await main.locator('tbody tr td:first-child').allInnerTexts()).slice(0, 3), ['Memory 119', 'Memory 118', 'Memory 117']);
    await main.getByRole('button', { name: 'Show more' }).click();
    const far = main.getByRole('link', { name: 'Memory 40', exact: true });
    await far.scrollIntoViewIfNeeded();
    const at = await page.evaluate(() => scrollY);
    need('a place far down', at > 500, true);
    await far.click();
    await page.getByRole('heading', { name: 'One', level: 1 }).waitFor();
    await page.goBack();
    await far.waitFor();
    await page.waitForFunction((y) => Math.abs(scrollY - y) < 50, at);
    await page.getByLabel('Title').fill('119');
    await page.keyboard.press('Enter');
    await main.getByRole('link', { name: 'Memory 118' }).waitFor({ state: 'detached' });
    await main.getByRole('link', { name: 'Memory 119' }).waitFor();
    need('what has the text', await main.locator('tbody tr').count(), 1);
    await page.unrouteAll({ behavior: 'wait' });
  },
  async goals() { // one that a number measures: made, moved, closed and deleted
    await visit(page, '#/goals');
    await main.getByText('New goal').click();
    for (const [name, value] of [['title', 'MRR'], ['due', '2096-12-31'], ['current', '30000'], ['target', '50000'], ['unit', 'EUR']]) await main.locator(`#g-${name}`).fill(value);
    await main.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'MRR', level: 1 }).waitFor();
    await main.getByLabel('Value, EUR').fill('40000');
    await main.getByRole('button', { name: 'Store' }).click();
    await main.getByRole('region', { name: 'History' }).getByText('50 %').waitFor();
    await main.getByRole('button', { name: 'Close the goal' }).click();
    await main.getByRole('button', { name: 'Open it again' }).waitFor();
    await main.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('MRR');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Goals', level: 1 }).waitFor();
    need('the goals that are left', (await api('GET', 'goals')).items.length, 0);
  },
  async catalogue() { // found by a word, a second one of a kind under a free name and a title, and a goal that its list measures
    await api('POST', 'integrations/http', { url: 'https://one.example.com/', itemsPath: '/data', idPath: '/id', titlePath: '/name', target: 'memory' });
    await visit(page, '#/connect');
    await page.getByLabel('Search').fill('http list');
    await main.getByRole('link', { name: 'Connect another: HTTP list' }).click();
    await page.getByLabel('URL').fill('https://two.example.com/');
    await page.getByLabel('Id', { exact: true }).fill('/id');
    await page.getByLabel('Title', { exact: true }).fill('/name');
    await page.getByLabel('Target').selectOption('memory');
    await page.getByLabel('Shown as').fill('Orders of the shop');
    await page.getByRole('button', { name: 'Configure' }).click();
    await page.getByRole('heading', { name: 'Orders of the shop', level: 1 }).waitFor();
    need('the title of the second', (await api('GET', 'integrations/http-2')).title, 'Orders of the shop');
    await visit(page, '#/goals');
    await main.getByText('New goal').click();
    for (const [name, value] of [['title', 'Revenue'], ['target', '50000'], ['unit', 'EUR'], ['pointer', 'total'], ['factor', '0.01']]) await main.locator(`#g-${name}`).fill(value);
    await main.locator('#g-from').selectOption('http-2 list');
    await main.getByRole('button', { name: 'Create' }).click();
    await main.getByRole('alert').getByRole('link', { name: 'Where in a record' }).click();
    await main.locator('#g-pointer').fill('/total');
    await main.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Revenue', level: 1 }).waitFor();
    await main.getByText('none yet of 50000 EUR').waitFor();
    const [made] = (await api('GET', 'goals')).items;
    need('the source of the goal', made.measure.source, { provider: 'http-2', stream: 'list', pointer: '/total', aggregate: 'sum', factor: '0.01' });
    await main.getByRole('button', { name: 'Tell the value by hand' }).click();
    await main.getByLabel('Value, EUR').waitFor();
    await api('DELETE', `goals/${made.id}`);
    for (const provider of ['http', 'http-2']) await api('DELETE', `integrations/${provider}`);
  },
  async deliveries() { // of all endpoints in one list
    await api('POST', 'integrations/webhook-other', { url: 'https://other.example.com/', events: ['integration.*', 'timeline.*'] });
    await api('POST', 'integrations/webhook-third', { url: 'https://third.example.com/', events: ['integration.*', 'timeline.*'] });
    await visit(page, '#/deliveries');
    const rows = main.getByRole('region', { name: 'Deliveries' }).getByRole('row');
    await looked('a delivery that is held for each', async () => {
      await api('POST', 'integrations/webhook-other/disable');
      await api('POST', 'integrations/webhook-other/enable');
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.waitForFunction(() => !document.querySelector('.loading'));
      return await rows.filter({ hasText: 'webhook-other' }).count() > 0 && await rows.filter({ hasText: 'webhook-third' }).count() > 0;
    });
    await page.getByRole('combobox', { name: 'Endpoint' }).selectOption('webhook-third');
    await page.waitForFunction(() => document.querySelector('main table') && !document.querySelector('main table').innerText.includes('webhook-other'));
    await page.route('**/integrations', (r) => r.fulfill({ json: { items: [] } })); // as after the last endpoint was deleted
    await visit(page, '#/today');
    await visit(page, '#/deliveries');
    await rows.filter({ hasText: 'webhook-third' }).first().waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  },
  async events() { // the catalogue, with a schema and an example
    await visit(page, '#/integrations');
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
    await settled(page);
    await everywhere(page, 'the events');
    await main.getByRole('link', { name: 'endpoint.paused' }).click();
    await main.getByRole('region', { name: 'Example' }).getByText('"state": "paused"').waitFor();
    await main.getByRole('region', { name: 'JSON Schema' }).getByText('json-schema.org').waitFor();
    await everywhere(page, 'an event');
  },
  async filter() { // tried, refused, and stored
    await api('POST', 'integrations/webhook-listening', { url: 'https://listening.example.com/', events: ['endpoint.*', 'memory.created'] });
    await visit(page, '#/integrations/webhook-listening');
    await page.getByRole('link', { name: 'Filter', exact: true }).click();
    const field = page.getByLabel('Filter', { exact: false }).and(page.locator('textarea'));
    await field.fill('.type == "endpoint.paused"');
    await page.getByLabel('Transformation', { exact: false }).fill('{text: .data.provider}');
    await page.getByRole('button', { name: 'Try on recent events' }).click();
    await main.getByText('1 sent, 3 left out, 0 held because it fails.').waitFor();
    await main.getByText('What is sent').first().click();
    await main.getByRole('region', { name: 'What is sent of endpoint.paused' }).getByText('"text": "webhook-billing"').waitFor();
    await everywhere(page, 'the filter');
    await field.fill('.lost');
    await page.getByRole('button', { name: 'Store' }).click();
    await main.getByRole('alert').getByRole('link', { name: 'Filter' }).click();
    need('the focus', await page.evaluate(() => document.activeElement.id), 'filter');
    await field.fill('.type == "endpoint.paused"');
    await page.getByRole('button', { name: 'Store' }).click();
    await main.getByText('Stored.', { exact: true }).waitFor();
    const { config } = await api('GET', 'integrations/webhook-listening');
    need('the stored filter', [config.filter, config.transform, config.events], ['.type == "endpoint.paused"', '{text: .data.provider}', ['endpoint.*', 'memory.created']]);
    await api('DELETE', 'integrations/webhook-listening');
  },
  async notices() { // what was sent, with its text, and one's own choice
    await api('POST', 'operations/users', { email: 'grace@example.com', role: 'member' });
    await visit(page, '#/operations/notices');
    await looked('the notice of the invitation', async () => {
      await visit(page, '#/operations/usage');
      await visit(page, '#/operations/notices');
      return await main.getByText('The text', { exact: true }).count() > 0;
    });
    await main.getByText('The text', { exact: true }).first().click();
    await main.getByRole('region', { name: 'The text of' }).first().waitFor();
    await everywhere(page, 'the notices');
    await visit(page, '#/account');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByLabel('Quiet from').fill('22:00');
    await page.getByLabel('Quiet until').fill('07:00');
    await main.getByRole('group', { name: 'Alert' }).getByLabel('By mail').uncheck();
    await main.getByRole('button', { name: 'Store' }).click();
    await main.getByText('Stored.', { exact: true }).waitFor();
    const chosen = await api('GET', 'notices/preferences');
    need('the preferences', [chosen.timeZone, chosen.quiet, chosen.channels.alert], ['Europe/Berlin', { from: '22:00', to: '07:00' }, []]);
    await everywhere(page, 'the account');
  },
  async print() { // what is folded is printed, without what only a screen can use, dark on light, and no wider than the paper
    await visit(page, '#/integrations/github/mapping');
    await main.getByText('Try it on a body of your own').waitFor();
    await page.setViewportSize({ width: 718, height: 1000 }); // A4 with margins
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const [folded, used, background, width] = await page.evaluate(() => [
      [...document.querySelectorAll('main details:not([open]) > :not(summary)')].map((e) => e.checkVisibility()),
      [...document.querySelectorAll('aside, button, .tabs, .filters')].filter((e) => e.checkVisibility()).length,
      getComputedStyle(document.documentElement).backgroundColor, document.documentElement.scrollWidth,
    ]);
    need('the folded parts', folded.length > 0 && folded.every(Boolean), true);
    need('what only a screen can use', used, 0);
    need('the background', background, 'rgb(246, 245, 241)');
    need('the width', width, 718);
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 600 });
  },
  async erasure() { // asked for by the company's name, and it waits for another person
    await visit(page, '#/operations/erasure');
    await main.getByRole('button', { name: 'Ask for the erasure…' }).click();
    const ask = page.getByRole('dialog').getByRole('button', { name: 'Ask', exact: true });
    need('asking without the name', await ask.isDisabled(), true);
    await page.getByRole('dialog').getByRole('textbox').fill((await api('GET', 'intelligence/context')).company.name);
    await ask.click();
    await main.getByRole('status').getByRole('link', { name: 'the answer of another person' }).click();
    await main.getByRole('button', { name: 'Withdraw' }).click();
    await main.getByRole('button', { name: 'Withdraw' }).waitFor({ state: 'detached' });
  },
  async words() { // what strangers write pushes nothing away and is cut nowhere, on every page that a link leads to
    const hostile = ['Donaudampfschifffahrtsgesellschaftskapitaen'.repeat(6), `<img src=x onerror=alert(1)><b>${'W'.repeat(90)}`, 'شركةالملاحةالبخارية'.repeat(12), '👩‍👩‍👧‍👦🏴‍☠️'.repeat(40), `https://example.com/${'a'.repeat(300)}`];
    let turn = 0;
    await page.route('**/companies/**', async (r) => {
      const response = await r.fetch(), body = await response.text();
      return r.fulfill({ response, body: body.replace(/"(title|name|email|reason|error|event|description|rationale|text|detail|subject|purpose|role|failure|excerpt|why|clientName|clientHost)":"(?:[^"\\]|\\.)*"/g, (_, key) => `"${key}":${JSON.stringify(hostile[turn++ % hostile.length])}`) });
    });
    const shape = (place) => place.replace(/\?.*/, '').replaceAll(/[0-9a-f-]{36}|[0-9a-f]{32,}/g, '*').replace(/\/events\/.*/, '/events/*');
    const linked = () => page.locator('a[href^="#/"]').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    const seen = new Map(), queue = ['#/today'];
    await page.setViewportSize({ width: 360, height: 700 });
    for (let place = queue.pop(); place; place = queue.pop()) {
      if (seen.has(shape(place))) continue;
      seen.set(shape(place), place);
      await visit(page, place);
      await page.evaluate(() => { for (const d of document.querySelectorAll('main details')) d.open = true; });
      await settled(page);
      const [width, cut] = await page.evaluate(() => [document.documentElement.scrollWidth, [...document.querySelectorAll('#app *')].filter((e) => {
        if (e.closest('.skip, .unseen, .scroll, .tabs, nav, svg, pre, thead') || !e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim())) return false;
        const box = e.getBoundingClientRect(), style = getComputedStyle(e);
        return box.right > innerWidth + 1 || box.left < -1 || (style.overflowX !== 'visible' && style.overflowX !== 'auto' && style.textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1);
      }).map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`).slice(0, 3)]);
      need(`the width of ${place}`, width, 360);
      need(`what is cut on ${place}`, cut, []);
      queue.push(...await linked());
    }
    const missing = ['#/health', '#/recommendations', '#/timeline', '#/integrations', '#/integrations/webhook/settings', '#/connect', '#/deliveries', '#/memory', '#/goals', '#/syncs', '#/events', '#/account', '#/operations/audit', '#/operations/users', '#/operations/channels', '#/operations/sso', '#/operations/export', '#/operations/erasure', '#/operations/approvals'].filter((p) => !seen.has(p));
    need('pages that no link leads to', missing, []);
    console.log(`${seen.size} pages at 360 pixels: ${[...seen.keys()].join(' ')}`);
    await page.setViewportSize({ width: 1280, height: 700 });
    for (const place of seen.values()) {
      await visit(page, place);
      need(`the width of ${place}`, await page.evaluate(() => document.documentElement.scrollWidth), 1280);
      need(`the width of the table of ${place}`, await page.evaluate(() => [...document.querySelectorAll('.scroll')].every((s) => s.scrollWidth <= s.clientWidth + 1)), true);
    }
    await page.unrouteAll({ behavior: 'wait' });
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
  console.log(`a day: ${Object.keys(steps).join(', ')}`);
} catch (err) {
  console.error(`${at}: ${err.message}`, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 2500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
