// A founder's first day: three repositories, two feeds, a Stripe account and a sheet, by what the page says alone. Then money moves a goal.
import { everywhere, logIn, looked, need, open, settled } from './browser.mjs';

const { PAID, PICTURES } = process.env;
const { browser, page, seen } = await open();
const main = page.locator('main'), button = (name) => main.getByRole('button', { name, exact: true });
/** field finds a form's control by its label. A link of the catalogue may have the same words: the page of before stays until the next one is drawn. */
const field = (label) => main.getByLabel(label).and(page.locator('input, select, textarea'));

/** follow clicks a link of the navigation. */
async function follow(name) {
  await page.locator('aside nav').getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  await settled(page);
}

/** pictured writes a picture of the page, if pictures are wanted. */
async function pictured(name) {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/day-${name}.png`, fullPage: true });
}

/** connect goes from the catalogue to a certified source that has been synced. */
async function connect(words, offer, fields) {
  if (await page.getByLabel('Search').count() === 0) {
    await follow('Integrations');
    await main.getByRole('link', { name: 'Connect', exact: true }).or(main.getByRole('link', { name: 'Connect the first one' })).first().click();
  }
  await page.getByLabel('Search').fill(words);
  await main.getByRole('link', { name: offer, exact: true }).click();
  for (const [label, value] of fields) await field(label).fill(value);
  await pictured(`form-${words}`);
  await button('Configure').click();
  await button('Run the certification').click();
  await main.getByText('Its syncs take effect now').waitFor();
  await pictured(`certified-${words}`);
  await button('Sync now').click();
  await main.getByText('A run was requested.').waitFor();
  await main.getByRole('link', { name: 'Connect something else' }).click();
}

/** synced waits until as many runs have succeeded, and none has failed. */
async function synced(runs) {
  await looked(`${runs} runs`, async () => {
    await follow('Memory');
    await main.getByRole('link', { name: 'Syncs' }).click();
    await page.getByRole('heading', { name: 'Syncs', level: 1 }).waitFor();
    await settled(page);
    need('runs that failed', await main.locator('.status', { hasText: 'Failed' }).count(), 0);
    return await main.locator('.status', { hasText: 'Succeeded' }).count() >= runs;
  });
}

const steps = {
  async repositories() {
    await connect('github', 'Connect: GitHub repositories', [['Repositories', 'octo/app\nocto/site\nocto/docs'], ['Access token', 'github_pat_right']]);
  },
  async feeds() {
    await connect('feed', 'Connect: Feed', [['URL', 'https://blog.example.com/rss.xml'], ['Shown as', 'Our blog']]);
    await connect('feed', 'Connect another: Feed', [['URL', 'https://status.example.com/rss.xml'], ['Shown as', 'Status of the cloud']]);
  },
  async stripe() {
    await connect('stripe', 'Connect: Stripe account', [['Restricted key', 'rk_test_right'], ['Schedule', '1h'], ['Shown as', 'Stripe']]);
  },
  async sheet() {
    await connect('sheets', 'Connect: Sheets of Google', [['Spreadsheet', '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms'], ['Range', 'Goals!A2:F50'], ['API key', 'AIza-right']]);
  },
  async brought() {
    await synced(5);
    await follow('Memory');
    for (const title of ['First of app', 'First of site', 'First of docs', 'We have launched', 'All systems work', 'Invoice A-1 for a customer: paid']) await main.getByText(title).waitFor();
    await follow('Goals');
    await main.getByRole('link', { name: 'Sign-ups' }).waitFor();
  },
  async goal() { // measured by the money that was paid
    await main.getByText('New goal').click();
    for (const [label, value] of [['Title', 'Revenue'], ['Due', '2096-12-31'], ['Start value', '0'], ['Target value', '50000'], ['Unit', 'EUR'], ['Where in a record', '/amount_paid'], ['Times', '0.01']]) await field(label).fill(value);
    await field('Number from').selectOption('Stripe: invoices');
    await field('Made one by').selectOption('sum');
    await field('Where in a record').fill('/amount');
    await button('Try the number').click();
    await main.getByText('There is no value, of 2 records. No record of invoices has a number at /amount.').waitFor();
    await main.getByText('The first record').click();
    await main.getByText('"amount_paid":3000000').waitFor();
    await field('Where in a record').fill('/amount_paid');
    await button('Try the number').click();
    await main.getByText('The value is 40000, of 2 records.').waitFor();
    await pictured('goal-form');
    await button('Create').click();
    await page.getByRole('heading', { name: 'Revenue', level: 1 }).waitFor();
    await moved('40000 of 50000 EUR');
    await (await fetch(PAID)).arrayBuffer();
    await moved('41200 of 50000 EUR');
    await everywhere(page, 'a goal that money moves');
    await pictured('goal');
  },
  async brief() {
    await looked('the goal in the brief', async () => {
      await follow('Today');
      return await main.getByText('"Revenue" is at 41,200 of 50,000 EUR').count() > 0 && await main.getByText('41,200 of 50,000 EUR, due on 2096-12-31').count() > 0;
    });
    await everywhere(page, 'the first day');
    await pictured('today');
  },
};

/** moved syncs the goal's source, and waits for its value. */
async function moved(value) {
  await button('Sync now').click();
  await main.getByText('A run was requested.').waitFor();
  await looked(value, async () => {
    await follow('Goals');
    await main.getByRole('link', { name: 'Revenue' }).click();
    await page.getByRole('heading', { name: 'Revenue', level: 1 }).waitFor();
    await settled(page);
    return await main.getByText(value).count() > 0;
  });
}

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
  console.log(`the first day: ${Object.keys(steps).join(', ')}`);
} catch (err) {
  await pictured('broken');
  console.error(`${at}: ${err.message}`, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 2500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
