import t from 'tap';
import {
  engineFailure,
  isServerFailure,
  StatementError,
  statementFailure,
} from '../../common/clickhouse/engine-failure.ts';
import { UnknownOutcome } from '../../common/errors/unknown-outcome.ts';

t.test(
  'DDL that goes on in the background has an unknown outcome, a statement that took too long has none',
  async (t) => {
    const ddl =
      'Code: 159. DB::Exception: Distributed DDL task /clickhouse/task_queue/ddl/query-0000000042 is not finished on 1 of 4 hosts ' +
      '(0 of them are currently executing the task). They are going to execute the query in background. ' +
      'Was waiting for 20.1 seconds, which is longer than distributed_ddl_task_timeout. (TIMEOUT_EXCEEDED)';
    t.ok(engineFailure({ text: ddl, code: '159' }) instanceof UnknownOutcome);
    const slow =
      'Code: 159. DB::Exception: Timeout exceeded: elapsed 6.1 seconds, maximum: 6. (TIMEOUT_EXCEEDED)';
    t.match(engineFailure({ text: slow, code: '159' }), { code: 'overloaded', status: 503 });
  },
);

t.test('which failures say that a server is to be left alone', async (t) => {
  const failed = (code: number) => isServerFailure(engineFailure({ text: 'x', code: String(code) }));
  for (const code of [202, 439, 745, 242, 225]) t.ok(failed(code), String(code));
  // of the statement: another server would do no better, or worse
  for (const code of [159, 241, 252, 285, 319, 60, 62]) t.notOk(failed(code), String(code));
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
