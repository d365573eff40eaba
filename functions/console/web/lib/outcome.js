// Module outcome tells what the answer of an operation means. A 200 may bring bad news.

/** bad marks what an action says as bad news. */
export const bad = (text) => ({ bad: text });

const certified = ({ passed }) => (passed ? 'Certified.' : bad('Not certified: see the failed checks.'));
const done = () => 'Done.';
const outcomes = {
  'certify-integration': certified, 'certify-executive': certified,
  'test-integration': ({ state, status, error }) => (state === 'delivered' ? `Delivered: the endpoint answered ${status}.` : bad(`Not delivered: ${error ?? `the endpoint answered ${status}`}.`)),
  'enable-integration': done, 'recover-integration': done, 'sync-memory': () => 'A run was requested.', 'cancel-sync': done,
};

/** runs reports whether an operation may run wherever it is advised. A person carries out the others on their own page, because they
 * need input or answer with a secret, which is shown only once. */
export const runs = (operation) => Object.hasOwn(outcomes, operation?.operation ?? '');

/** outcome tells what came of an operation that runs: a text, or bad news. */
export const outcome = (operation, body) => outcomes[operation](body);
