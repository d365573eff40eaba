// A founder's work by the keyboard alone: no step points at anything, and whatever is used shows that it has the focus.
import { logIn, looked, need, open, posted, settled } from './browser.mjs';

const { GRAVEYARD, RECEIVER, SECRET } = process.env;
const { browser, page, seen } = await open();
const main = page.locator('main'), dialog = page.getByRole('dialog');

/** reach moves the focus with Tab until it is at what a locator finds. */
async function reach(target, most = 150) {
  await target.waitFor();
  for (let n = 0; n < most; n++) {
    const [here, marked] = await target.evaluate((el) => [el === document.activeElement, el.matches(':focus-visible') && getComputedStyle(el).outlineStyle !== 'none']);
    if (here) return need(`a visible focus at ${target}`, marked, true);
    await page.keyboard.press('Tab');
  }
  throw new Error(`${most} times Tab does not reach ${target}`);
}

const press = async (target) => { await reach(target); await page.keyboard.press('Enter'); };
const button = (name, within = main) => press(within.getByRole('button', { name, exact: true }));
const link = (name, within = main) => press(within.getByRole('link', { name, exact: true }));
const write = async (target, text) => { await reach(target); await page.keyboard.press('Control+a'); await page.keyboard.type(text); };

/** pick chooses an option by the first letters of its text. */
async function pick(target, text, want) {
  await reach(target);
  await page.keyboard.type(text);
  need(`the choice ${text}`, await target.inputValue(), want);
}

/** palette goes to a place by its name. */
async function palette(name) {
  await page.keyboard.press('Control+k');
  await dialog.getByRole('option', { name, exact: true }).waitFor();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

/** title waits for a page, which then has the focus. */
async function title(name) {
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
  await page.locator('#main:focus').waitFor();
  await settled(page);
}

/** tab opens a part of a page, and waits for its content. */
async function tab(name) {
  const parts = main.getByRole('navigation');
  await link(name, parts);
  await parts.locator('[aria-current]', { hasText: name }).waitFor();
  await settled(page);
}

/** said waits for what an action answers. */
const said = (text) => page.getByText(text).first().waitFor();

const journeys = {
  async connect() {
    await link('Connect a webhook');
    await title('Connect Webhook endpoint');
    await write(page.getByLabel('URL'), 'ftp://wrong');
    await page.keyboard.press('Enter');
    await press(page.locator('.summary a').first()); // a problem leads to its field
    need('the field of the problem', await page.evaluate(() => document.activeElement.type), 'url');
    await write(page.getByLabel('URL'), RECEIVER);
    await write(page.getByLabel('Signing secret'), SECRET);
    await button('Configure');
    await page.getByRole('button', { name: 'Run the certification' }).waitFor();
    await posted(); // stays in the sandbox's inbox
    await tab('Mapping');
    await press(main.locator('.found button').first());
    await button('Try on the chosen arrival');
    await main.getByRole('status').filter({ hasText: 'memory.upsert' }).first().waitFor();
    await button('Store');
    await main.getByText('Stored.', { exact: true }).waitFor();
    await button('Return to the default');
    await write(dialog.getByRole('textbox'), 'webhook');
    await button('Return', dialog);
    await main.getByText('The default of the provider.').waitFor();
    await tab('Deliveries');
    await looked('a delivery that is held', async () => { // of the entry that the configuration made
      await button('Refresh');
      await page.waitForFunction(() => !document.querySelector('.loading'));
      return main.getByRole('row').filter({ hasText: 'Held' }).count();
    });
    await press(main.getByRole('row').filter({ hasText: 'Held' }).getByRole('link').first());
    await said('The endpoint is in the sandbox.');
    await link('Certify it');
    await button('Run the certification');
    await said('Certified.');
    await link('See and recover them'); // what was held before
    await button('Recover…');
    await pick(dialog.getByRole('combobox', { name: 'Events of' }), 'The last h', '3600');
    await button('Count them', dialog);
    await dialog.getByText(/will be sent again/).waitFor();
    await press(dialog.getByRole('button', { name: /^Recover \d/ }));
    await dialog.getByText('Finished').waitFor();
    await dialog.getByText(/[1-9]\d* delivered .* 0 waiting/).waitFor();
    await button('See the deliveries', dialog);
    await dialog.waitFor({ state: 'detached' });
    await tab('Overview');
    await button('Send a sample');
    await said(/^Delivered: the endpoint answered 2/);
  },
  async deliver() {
    await page.keyboard.type('gd');
    await title('Deliveries');
    await page.keyboard.press('/'); // to the filters
    await pick(page.getByRole('combobox', { name: 'State' }), 'Delivered', 'delivered');
    await press(main.getByRole('region', { name: 'Deliveries' }).getByRole('link').first());
    await page.getByText('Attempt 1', { exact: true }).waitFor();
    await button('Retry now');
    await said('An attempt is due now.');
    await link('‹ Deliveries of webhook');
    await button('Recover…');
    await pick(dialog.getByRole('combobox', { name: 'Events of' }), 'The last h', '3600');
    await button('Count them', dialog);
    await dialog.getByText(/will be sent again|Nothing to recover/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    need('the focus after the dialog', await page.evaluate(() => document.activeElement.textContent), 'Recover…');
  },
  async pause() {
    await fetch(`${RECEIVER}broken`, { method: 'PUT' });
    for (let n = 0; n < 5; n++) await posted({ externalId: `paused-${n}`, kind: 'note', title: `While the endpoint fails ${n}` });
    const shown = async (where, text) => {
      await looked(text, async () => {
        await page.keyboard.type('gt');
        await title('Today');
        await page.keyboard.type(where[0]);
        await title(where[1]);
        return main.getByText(text).count();
      });
    };
    await shown(['gi', 'Integrations'], 'Its last attempts failed.');
    await shown(['gd', 'Deliveries'], 'paused: its attempts fail');
    await page.keyboard.type('gp');
    await title('Operations');
    await main.getByRole('region', { name: 'Endpoints' }).getByText('Paused: they fail').waitFor();
    await fetch(`${RECEIVER}whole`, { method: 'PUT' });
    await page.keyboard.type('gd');
    await title('Deliveries');
    await button('Try now');
    await main.getByText('Its last attempts failed.').waitFor({ state: 'detached' });
    await looked('what waited', async () => {
      await button('Refresh');
      await settled(page);
      return await main.getByRole('row').filter({ hasText: 'Scheduled' }).count() === 0;
    });
  },
  async read() {
    await page.keyboard.type('gh');
    await title('Health');
    await press(main.locator('summary').first());
    await main.locator('details[open]').first().waitFor();
    await page.keyboard.type('gl');
    await title('Timeline');
    await page.keyboard.press('/');
    await pick(page.getByRole('combobox', { name: 'Kind' }), 'Integration certified', 'integration.certified');
    await reach(main.getByRole('link').first()); // in a field, letters are text
    await page.keyboard.type('gr');
    await title('Recommendations');
    await page.keyboard.type('gm');
    await title('Memory');
    await link('Syncs');
    await title('Syncs');
    await page.keyboard.type('go');
    await title('Goals');
    await page.keyboard.type('gt');
    await title('Today');
  },
  async approve() {
    await page.keyboard.type('gp');
    await title('Operations');
    await tab('Policies');
    await button('Add a policy');
    await pick(main.getByRole('combobox', { name: 'Mode' }), 'Enf', 'enforce');
    await write(main.getByRole('textbox', { name: 'Text of policy-1' }), '@approval("a person agrees") forbid (principal, action == Action::"memory.upsert", resource) unless { context.approval == context.digest };');
    await pick(main.getByRole('combobox', { name: 'asks for the action' }), 'memory', 'memory.upsert');
    await write(main.getByLabel('Integration', { exact: true }), 'webhook');
    await button('Try'); // a dry run
    await main.getByRole('status').filter({ hasText: 'Needs approval' }).waitFor();
    await button('Store');
    await said('They decide everywhere');
    let tickets = 0;
    await looked('the policy in force', async () => { // a ticket that comes earlier is permitted
      await posted({ externalId: `early-${tickets++}`, kind: 'ticket', title: 'To be approved' });
      await tab('Decisions');
      await tab('Approvals');
      return main.getByRole('heading', { name: 'To be approved' }).count();
    });
    await posted({ externalId: 'rejected', kind: 'ticket', title: 'To be rejected' });
    await tab('Decisions');
    await tab('Approvals');
    const card = (name) => main.locator('li.card').filter({ hasText: name });
    await page.locator('aside nav').getByTitle(/approvals? to answer/).waitFor(); // the count of those that wait
    await press(card('To be approved').locator('summary').first()); // the exact action
    await card('To be approved').getByLabel('The exact action').first().waitFor();
    await button('Approve', card('To be approved').first());
    await card('To be approved').getByText('Approved').first().waitFor();
    await button('Reject', card('To be rejected'));
    await card('To be rejected').getByText('Rejected').first().waitFor();
    await page.keyboard.type('gm');
    await title('Memory');
    await main.getByRole('link', { name: 'To be approved' }).waitFor();
    need('what was rejected', await main.getByRole('link', { name: 'To be rejected' }).count(), 0);
  },
  async replay() {
    if (GRAVEYARD) need('a dead letter', (await fetch(GRAVEYARD, { method: 'POST' })).status, 204);
    await page.keyboard.type('gp');
    await title('Operations');
    const letters = async () => {
      await tab('Reliability');
      await tab('Dead letters');
    };
    await letters();
    if (GRAVEYARD) {
      await press(main.getByRole('region', { name: 'Dead letters' }).getByRole('link').first());
      await page.getByText('Attempt 10', { exact: true }).waitFor();
      await page.keyboard.type('gp');
      await title('Operations');
      await looked('the replay', async () => { // as soon as the company's facts know the letter
        await letters();
        await button('Replay…');
        await button('Replay', dialog);
        await dialog.waitFor({ state: 'detached' });
        await settled(page);
        return main.getByRole('heading', { name: 'Replay to webhook' }).count();
      });
      await main.getByText(/1 delivered .* 0 waiting/).waitFor();
    }
    await main.getByText('No dead letters').waitFor();
  },
  async decide() {
    await page.keyboard.type('gr');
    await title('Recommendations');
    const card = main.locator('article').filter({ hasText: 'Add a second founder' });
    await button('Claim', card);
    await card.getByText('Claimed').waitFor();
    await button('Dismiss…', card);
    await pick(dialog.getByRole('combobox', { name: 'Reason' }), 'Accepted', 'accepted-risk');
    await write(dialog.getByRole('textbox'), 'One founder is enough for now');
    await button('Dismiss', dialog);
    await card.waitFor({ state: 'detached' });
    await pick(main.getByRole('combobox', { name: 'State' }), 'Dismissed', 'dismissed');
    await card.getByText('One founder is enough for now').waitFor();
    await button('Reopen', card);
    await card.waitFor({ state: 'detached' });
    await pick(main.getByRole('combobox', { name: 'State' }), 'Open', '');
    await link('Invite a founder', card);
    await title('Operations');
  },
  async operate() {
    await page.keyboard.type('gp');
    await title('Operations');
    await tab('Users');
    await write(page.getByLabel('E-mail'), 'nobody');
    await button('Invite');
    await press(main.locator('.summary a'));
    need('the field of the problem', await page.evaluate(() => document.activeElement.id), 'invited');
    await write(page.getByLabel('E-mail'), 'ada@example.com');
    await pick(page.getByRole('combobox', { name: 'Role' }), 'Operator', 'operator');
    await button('Invite');
    await main.getByText('Give ada@example.com').waitFor();
    await tab('Policies');
    await button('Try');
    await main.getByRole('status').waitFor();
    await tab('Executives');
    await write(page.getByLabel('Name'), 'Chief of Staff');
    await write(page.getByLabel('Role'), 'Keeps the timeline tidy');
    await reach(page.getByRole('combobox', { name: 'Owner' }));
    await page.keyboard.press('ArrowDown');
    await write(page.getByLabel('Actions a day'), '10');
    await reach(page.getByLabel('timeline.note'));
    await page.keyboard.press('Space');
    await button('Configure');
    await write(page.getByLabel('Text', { exact: true }), 'All quiet');
    await button('Try');
    await main.getByRole('status').filter({ hasText: 'Proposed' }).waitFor();
    await button('Run the certification');
    await page.getByRole('heading', { name: 'Ask for an action' }).waitFor();
  },
  async display() {
    await button('Display', page.locator('aside'));
    await pick(dialog.getByRole('combobox', { name: 'Times' }), 'UTC', 'utc');
    await main.locator('time', { hasText: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/ }).first().waitFor();
    await page.keyboard.press('ArrowUp'); // to local times
    await main.locator('time', { hasText: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ }).first().waitFor();
    await page.keyboard.press('ArrowUp'); // to relative ones
    await main.locator('time', { hasText: /ago|just now|^in / }).first().waitFor();
    await pick(dialog.getByRole('combobox', { name: 'Theme' }), 'Dark', 'dark');
    need('the theme', await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await dialog.getByText('This list').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  },
  async remove() {
    await palette('Integration: webhook');
    await title('webhook');
    await tab('Settings');
    await button('Disable');
    await button('Disable', dialog);
    await dialog.waitFor({ state: 'detached' });
    await button('Enable');
    await main.getByRole('button', { name: 'Disable', exact: true }).waitFor();
    await button('Rotate the signing secret');
    await button('Rotate', dialog);
    await main.getByText('Keep the signing secret now').waitFor();
    await button('Remove');
    await write(dialog.getByRole('textbox'), 'webhook');
    await button('Remove', dialog);
    await title('Integrations');
    await main.getByText('Nothing is connected yet').waitFor();
    await button('Log out', page.locator('aside'));
    await page.getByLabel('E-mail').waitFor();
  },
};

let at = 'the login';
try {
  await logIn(page);
  for (const [name, journey] of Object.entries(journeys)) {
    at = name;
    await journey();
  }
  need('what must not happen', seen.wrong, []);
  need('breaches of the policy', await page.evaluate(() => window.breaches), []);
  console.log(`by keyboard: ${Object.keys(journeys).join(', ')}`);
} catch (err) {
  console.error(`${at}: ${err.message}`, '\nat', page.url(), '\n', await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200)),
    '\n', (await page.locator('body').innerText()).slice(0, 1500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
