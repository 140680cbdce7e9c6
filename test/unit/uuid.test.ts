import t from 'tap';
import { nameBasedUuid, uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';

t.test('version 5 as RFC 9562 appendix A.4 has it', async (t) => {
  const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
  t.equal(nameBasedUuid(dns, 'www.example.com'), '2ed6657d-e927-568b-95e1-2665a8aea6a2');
});

t.test('lists of parts have the same id only when they are the same', async (t) => {
  t.equal(uuidV5('a', 'b'), uuidV5('a', 'b'));
  t.match(uuidV5('a'), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const lists = [
    [],
    [''],
    ['', ''],
    ['a'],
    ['ab'],
    ['a', 'b'],
    ['a,b'],
    ['a","b'],
    ['b', 'a'],
    ['a', 'b', ''],
    ['a/b'],
    ['é'],
  ];
  t.equal(new Set(lists.map((parts) => uuidV5(...parts))).size, lists.length);
  // stored data hangs on it
  t.equal(uuidV5('owner', 'project', 'space'), '8585e8a9-ed6d-5f9e-9299-08b224fbf723');
});

t.test('version 7 only grows', async (t) => {
  const id = createUuidV7();
  const ids = Array.from({ length: 100_000 }, id);
  t.equal(
    ids.every((text, i) => i === 0 || (ids[i - 1] as string) < text),
    true,
  );
  t.equal(
    ids.every((text) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)),
    true,
  );
  const time = Number.parseInt((ids[0] as string).replaceAll('-', '').slice(0, 12), 16);
  t.ok(Math.abs(time - Date.now()) < 60_000);
});

t.test('version 7 grows when the clock stands or goes back, and when a millisecond is used up', async (t) => {
  let now = 1_800_000_000_000;
  const id = createUuidV7({ now: () => now });
  const ids = [id()];
  for (const step of [0, 0, -5000, 0, 1, 5000, -1]) {
    now += step;
    for (let i = 0; i < 100; i++) ids.push(id());
  }
  t.equal(
    ids.every((text, i) => i === 0 || (ids[i - 1] as string) < text),
    true,
  );

  const random = new Set([...ids, id(), id()].map((text) => text.slice(-17)));
  t.equal(random.size, ids.length + 2, 'what is random differs from one to the next');

  const crowded = createUuidV7({ now: () => now });
  const many = Array.from({ length: 10_000 }, crowded);
  t.equal(
    many.every((text, i) => i === 0 || (many[i - 1] as string) < text),
    true,
  );
  t.ok(
    Number.parseInt((many.at(-1) as string).replaceAll('-', '').slice(0, 12), 16) > now,
    'time is borrowed',
  );
});
