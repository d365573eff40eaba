// A founder sets up Slack and mail with their tests, chooses the company's defaults, and removes Slack.
import { everywhere, logIn, need, open, visit } from './browser.mjs';

const { BASE, COMPANY, EMAIL, PASSWORD, WEBHOOK } = process.env;
const { access_token: token } = await (await fetch(`${BASE}/auth/login`, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
})).json();
const api = async (path) => (await fetch(`${BASE}/companies/${COMPANY}/${path}`, { headers: { Authorization: `Bearer ${token}` } })).json();

const { browser, page, seen } = await open();
const card = (title) => page.locator('section.card').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
const slack = card('Slack'), mail = card('Mail'), defaults = card('Defaults of the company');
const press = async (of, name, said) => { await of.getByRole('button', { name, exact: true }).click(); await of.getByText(said).first().waitFor(); };
try {
  await logIn(page);
  await visit(page, '#/operations/channels');
  await slack.getByText('Not set up.').waitFor();
  await everywhere(page, 'the channels of a new company');

  await slack.getByLabel('Address of an incoming webhook').fill('https://example.com/services/T/B/x');
  await press(slack, 'Store', /must be|is not/);
  await slack.getByLabel('Address of an incoming webhook').fill(`${WEBHOOK}-that-is-gone`);
  await press(slack, 'Store', 'An incoming webhook posts.');
  await press(slack, 'Send a test', /no_service/);
  await slack.getByLabel('Address of an incoming webhook').fill(WEBHOOK);
  await press(slack, 'Store', 'Stored.');
  await press(slack, 'Send a test', 'Sent. Look there.');
  need('the address on the page', (await page.content()).includes(WEBHOOK), false);
  need('the kinds that go to Slack', (await api('operations/channels/slack')).kinds, ['approval', 'alert', 'brief']);

  await mail.getByLabel('Sender\'s name').fill('Acme operations');
  await mail.getByLabel('Answers go to').fill('ops@acme.example');
  await press(mail, 'Store', 'Stored.');
  await press(mail, 'Send a test', 'Sent. Look there.');
  need('how mails appear', (({ name, replyTo }) => [name, replyTo])(await api('operations/channels/mail')), ['Acme operations', 'ops@acme.example']);

  await defaults.getByLabel('Time zone').fill('Europe/Berlin');
  await defaults.getByLabel('Quiet from').fill('20:00');
  await defaults.getByLabel('Quiet until').fill('08:00');
  await defaults.getByRole('group', { name: 'Alert' }).getByLabel('In the company\'s Slack channel').check();
  await defaults.getByLabel('Brief at').fill('08:30');
  await defaults.getByLabel('Friday').uncheck();
  await press(defaults, 'Store', 'Stored.');
  const chosen = await api('notices/preferences');
  need('what the founder, who has chosen nothing, is told', [chosen.timeZone, chosen.quiet, chosen.brief, chosen.channels.alert], [
    'Europe/Berlin', { from: '20:00', to: '08:00' }, { at: '08:30', days: ['monday', 'tuesday', 'wednesday', 'thursday'] }, ['mail', 'slack'],
  ]);
  await everywhere(page, 'the channels');

  await slack.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await slack.getByText('Not set up.').waitFor();
  need('breaches of the policy', await page.evaluate(() => window.breaches), []);
  need('what must not happen', seen.wrong, []);
} catch (err) {
  console.error(err.message, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 2500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
