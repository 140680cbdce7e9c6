import t from 'tap';
import { engineFailure, isServerFailure, StatementError, statementFailure } from '#engine/engine-failure.ts';

t.test('which failures say that a server is to be left alone', async (t) => {
  const failed = (code: number) => isServerFailure(engineFailure({ text: 'x', code: String(code) }));
  for (const code of [202, 225, 236, 242, 243, 289, 439, 745]) t.ok(failed(code), String(code));
  // of the statement: another server would do no better, or worse
  for (const code of [159, 164, 201, 241, 252, 285, 319, 497, 516, 60, 62])
    t.notOk(failed(code), String(code));
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  t.ok(isServerFailure(statementFailure(reset, { writes: false })));
  t.ok(isServerFailure(statementFailure(reset, { writes: true })));
  t.ok(isServerFailure(statementFailure(new Error('status 502'), { writes: false })));
  t.notOk(isServerFailure(new StatementError(62, 'syntax')));
});

t.test('a server that can not write at the moment is a 503 that says nothing was done', async (t) => {
  for (const code of ['242', '285', '225']) {
    t.match(engineFailure({ text: 'x', code }), { status: 503, code: 'not_ready', cause: StatementError });
  }
});

t.test('a write that the engine ended may have been made', async (t) => {
  for (const code of ['159', '236', '394']) {
    const refusal = engineFailure({ text: 'x', code });
    t.equal(statementFailure(refusal, { writes: false }), refusal);
    t.match(refusal, { status: 503, cause: StatementError });
    t.match(statementFailure(refusal, { writes: true }), { name: 'UnknownOutcome', refusal });
  }
  const refused = engineFailure({ text: 'x', code: '202' });
  t.equal(statementFailure(refused, { writes: true }), refused, 'it did not begin');
  const shutsDown = statementFailure(engineFailure({ text: 'x', code: '236' }), { writes: true });
  t.ok(isServerFailure(shutsDown), 'and the server is to be left alone');
  t.notOk(isServerFailure(statementFailure(engineFailure({ text: 'x', code: '394' }), { writes: true })));
});
