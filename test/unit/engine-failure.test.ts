import t from 'tap';
import {
  engineFailure,
  isServerFailure,
  StatementError,
  statementFailure,
} from '../../common/clickhouse/engine-failure.ts';

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
