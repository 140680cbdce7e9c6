import t from 'tap';
import { readSystemValue } from '#query/imports/thread/system-values.ts';

t.test('ids and times that an import keeps', async (t) => {
  t.strictSame(readSystemValue('id', 'a.b-C_~9'), { value: 'a.b-C_~9' });
  for (const id of ['', 'a b', 'ü', 'x'.repeat(65), 7, null])
    t.match(readSystemValue('id', id), { problem: /1 to 64 letters/ }, JSON.stringify(id));
  const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  for (const text of [
    '2026-01-02T03:04:05.678Z',
    '2026-01-02T05:04:05.678+02:00',
    '2026-01-02T03:04:05.678000Z',
  ])
    t.strictSame(readSystemValue('createdAt', text), { value: time }, text);
  const times = [
    '2026-01-02',
    '2026-01-02T03:04:05',
    'Jan 2 2026 UTC',
    '1969-12-31T23:59:59Z',
    '2200-01-01T00:00Z',
  ];
  for (const wrong of [...times, '2026-13-02T03:04Z', '', 7, new Date(), null])
    t.match(readSystemValue('updatedAt', wrong), { problem: /time with its zone/ }, JSON.stringify(wrong));
});
