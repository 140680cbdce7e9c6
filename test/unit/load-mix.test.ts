import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import t from 'tap';
import { mixOfValue, parseMix, readMix } from '../../load/mix/read-mix.ts';
import { RequestChoice } from '../../load/mix/request-choice.ts';
import { phasesOf } from '../../load/run/phases-of.ts';

const load = join(import.meta.dirname, '../../load');
const validate = new Ajv({ allErrors: true, strict: false }).compile(
  JSON.parse(readFileSync(join(load, 'mix/mix.schema.json'), 'utf8')),
);

const people = {
  name: 'people',
  records: 50,
  fields: [
    { name: 'email', unique: true },
    { name: 'age', type: 'NUMBER', values: 90 },
  ],
};

t.test('a mix needs no more than its requests', async (t) => {
  const mix = parseMix('small.json', '{"requests": [{"kind": "request", "path": "/"}]}');
  t.match(mix, {
    name: 'small',
    seed: 1,
    requests: [{ name: 'request', weight: 1, think: 0, method: 'GET', body: null, expect: null }],
    phases: [{ concurrency: 16, rate: null, seconds: 30, counts: true }],
  });
});

t.test('sizes, times and standard values', async (t) => {
  const text = JSON.stringify({
    spaces: [people],
    requests: [
      { kind: 'findOne', think: '1.5 s' },
      { kind: 'list' },
      { kind: 'upload', sizes: [{ bytes: '64 KiB' }, { bytes: 5, weight: 2 }, { bytes: '100 MB' }] },
    ],
    phases: [
      { seconds: 2, rate: 10, rateAtEnd: 20 },
      { seconds: 1, concurrency: 3, counts: false },
    ],
  });
  const mix = parseMix('a.json', text);
  t.ok(validate(JSON.parse(text)), JSON.stringify(validate.errors));
  t.match(mix.requests, [
    { by: ['email'], space: 'people', think: 1500, limit: 0 },
    { by: [], limit: 20 },
    { by: 'form', sizes: [{ bytes: 65_536, weight: 1 }, { bytes: 5, weight: 2 }, { bytes: 1e8 }] },
  ]);
  t.match(mix.phases, [
    { name: 'phase 1', rateAtEnd: 20 },
    { name: 'phase 2', counts: false },
  ]);
});

t.test('a bad mix is one sentence with line and key', async (t) => {
  const request = '{"kind": "request", "path": "/"}';
  const find = (rest: string): string =>
    `{"spaces": [${JSON.stringify(people)}],\n"requests": [\n{"kind": "find"${rest}}]}`;
  const cases: readonly (readonly [string, string])[] = [
    [
      `{"requests": [${request},\n{"kind": "request", "name": "b", "path": "/", "weight": "x"}]}`,
      '2: requests[1].weight is "x", and must be a number above 0',
    ],
    ['{"requests": []}', '1: requests is [], and must be a list of at least one request'],
    ['{}', '1: requests is missing, and must be a list of at least one request'],
    ['[]', '1: the file must be an object'],
    ['{\n"requests": [\n', '3: the mix is not JSON: expected a value, found the end of the file'],
    ['{"requests": [],\n"requests": []}', '2: the mix has the key requests twice'],
    ['{"seed": 1,}', '1: the mix is not JSON: expected a key in quotes, found "}"'],
    ['{"seed": 01}', '1: the mix is not JSON: expected a value, found "0"'],
    ['{"seed": 1} 2', '1: the mix is not JSON: expected the end of the file, found "2"'],
    [
      `{"requests": [${request}],\n\n"phase": []}`,
      '3: there is no key phase, only $schema, name, description, seed, spaces, requests, phases',
    ],
    [
      `{"requests": [${request}, ${request}]}`,
      '1: requests[1].name is missing, and must be a name that none before it has: request is taken',
    ],
    [
      find(', "by": ["name"]'),
      '3: requests[0].by is ["name"], and must be fields of the space people: email, age',
    ],
    [
      find(', "space": "cats"'),
      '3: requests[0].space is "cats", and must be one of the mix\'s spaces: people',
    ],
    [find(', "think": "1 h"'), '3: requests[0].think is "1 h", and must be a time such as 100 or "100 ms"'],
    [
      find(', "path": "/"'),
      '3: there is no key requests[0].path, only kind, name, weight, think, space, by, sort, limit, pages, among, records',
    ],
    [
      '{"requests": [{"kind": "upload", "sizes": [\n{"bytes": "many"}]}]}',
      '2: requests[0].sizes[0].bytes is "many", and must be a size such as 2048 or "64 KiB"',
    ],
    [
      '{"requests": [{"kind": "request", "path": "/a b"}]}',
      '1: requests[0].path is "/a b", and must be a path that begins with /, in ASCII without spaces',
    ],
    [
      `{"requests": [${request}], "phases": [\n{"seconds": 0}]}`,
      '2: phases[0].rate is missing, and must be there, or concurrency, or streams',
    ],
    [
      `{"requests": [${request}], "phases": [\n{"seconds": 1, "rate": 1, "concurrency": 1}]}`,
      '2: phases[0].rate is 1, and must be left out of a phase with concurrency: a loop is open or closed',
    ],
    [
      `{"requests": [${request}],\n"spaces": [{"name": "a", "fields": [{"name": "b"}]},\n{"name": "a"}]}`,
      '3: spaces[1].name is "a", and must be a name that none before it has: a is taken',
    ],
    [
      `{"requests": [${request}], "spaces": [{"name": "a", "fields": [{"name": "b"},\n{"name": "b"}]}]}`,
      '2: spaces[0].fields[1].name is "b", and must be a name that none before it has: b is taken',
    ],
    [
      `{"requests": [${request}], "spaces": [{"name": "a", "fields": [{"name": "b", "type": "BOOLEAN", "unique": true}]}]}`,
      '1: spaces[0].fields[0].unique is true, and must be left out of a BOOLEAN: it has two values',
    ],
    [
      find(', "sort": "-nmae"'),
      '3: requests[0].sort is "-nmae", and must be a field of the space people, or - and a field: email, age',
    ],
    [
      '{"requests": [\n{"kind": "find"}]}',
      "2: requests[0].space is missing, and must be one of the mix's spaces: it has none",
    ],
    [
      '{"spaces": [{"name": "a", "records": 0, "fields": [{"name": "b"}]}],\n"requests": [{"kind": "insert"},\n{"kind": "update"}]}',
      '3: requests[1].space is missing, and must be a space with records before the load: a has none',
    ],
    [
      '{"spaces": [{"name": "a", "fields": [{"name": "b", "unique": true}]}],\n"requests": [{"kind": "update"}]}',
      '2: requests[0].space is missing, and must be a space with a field that is not unique: a has none that may change',
    ],
    [
      find('}, {"kind": "live"'),
      '1: phases is missing, and must be a list with streams in a phase: the request live is a stream',
    ],
    [
      `{"requests": [${request}], "phases": [\n{"seconds": 1, "streams": 5}]}`,
      '2: phases[0].streams is 5, and must be left out of a mix without a live request',
    ],
    [
      `{"requests": [${request}], "phases": [\n{"seconds": 1, "concurrency": 1e9}]}`,
      '2: phases[0].concurrency is 1000000000, and must be a whole number from 1 to 100000',
    ],
    [
      '{"requests": [{"kind": "upload", "sizes": [\n{"bytes": 1.5}]}]}',
      '2: requests[0].sizes[0].bytes is 1.5, and must be a size such as 2048 or "64 KiB"',
    ],
    [
      '{"requests": [{"kind": "request", "path": "/", "headers": {"a": "\\u010a"}}]}',
      '1: requests[0].headers is {"a":"\u010a"}, and must be header fields of HTTP',
    ],
    [
      '{"requests": [{"kind": "request", "path": "/", "headers": {"Content-Length": "1"}}]}',
      '1: requests[0].headers is {"Content-Length":"1"}, and must be without Content-Length, which follows from the body',
    ],
    [`{"requests": [${request}], "seed": -1}`, '1: seed is -1, and must be a whole number from 0 up'],
  ];
  for (const [text, sentence] of cases)
    t.throws(() => parseMix('mix.json', text), { message: `mix.json:${sentence}` });
});

t.test('a mix that is an object: as a file has it, and as it was read', async (t) => {
  const file = { spaces: [people], requests: [{ kind: 'findOne' }], phases: [{ seconds: 1, rate: 5 }] };
  const mix = mixOfValue(file);
  t.match(mix, { name: 'mix', requests: [{ name: 'findOne', weight: 1, by: ['email'] }] });
  t.strictSame(mixOfValue(mix), mix);
  t.throws(() => mixOfValue({ ...file, requests: [{ kind: 'findOne', weight: 0 }] }), {
    message: 'mix: requests[0].weight is 0, and must be a number above 0',
  });
});

t.test('a mix that is not there', async (t) => {
  await t.rejects(readMix('no/thing.json'), { message: /^no\/thing.json: the mix can't be read: ENOENT/ });
  await t.rejects(readMix('nothing'), {
    message: /^nothing: no mix of this name ships: they are httparena, live, mixed, records, uploads,/,
  });
});

t.test('the mixes that ship are right, and their schema says so', async (t) => {
  const names = readdirSync(join(load, 'mixes'), { recursive: true }) as string[];
  for (const name of names.filter((one) => one.endsWith('.json'))) {
    const { text } = await readMix(join(load, 'mixes', name));
    t.ok(validate(JSON.parse(text)), `${name} ${JSON.stringify(validate.errors)}`);
  }
});

t.test('which request a number is follows from the seed and the weights', async (t) => {
  const text =
    '{"requests": [{"kind": "request", "name": "a", "path": "/", "weight": 3}, {"kind": "request", "name": "b", "path": "/"}]}';
  const choice = new RequestChoice(parseMix('a.json', text));
  const names = Array.from({ length: 4000 }, (_, number) => choice.requestOf(number).name);
  const share = names.filter((name) => name === 'a').length / names.length;
  t.ok(share > 0.72 && share < 0.78, `${share}`);
  const again = new RequestChoice(parseMix('a.json', text));
  t.strictSame(
    names,
    Array.from({ length: 4000 }, (_, number) => again.requestOf(number).name),
  );
});

t.test('a rate of the caller keeps the warm-up of a mix, and replaces its other phases', async (t) => {
  const text = `{"spaces": [${JSON.stringify(people)}], "requests": [{"kind": "live"}], "phases": [
    {"name": "first", "seconds": 5, "rate": 1, "counts": false},
    {"name": "day", "seconds": 10, "rate": 2, "streams": 3},
    {"name": "night", "seconds": 5, "rate": 1}]}`;
  const mix = parseMix('a.json', text);
  t.match(phasesOf(mix, { rate: 9, seconds: 8 }), [
    { name: 'warm-up', seconds: 2, rate: 9, concurrency: null, counts: false, streams: 3 },
    { name: 'load', seconds: 6, rate: 9, concurrency: null, counts: true, streams: 3 },
  ]);
  t.match(phasesOf(mix, { concurrency: 4, seconds: 8 }), [
    { seconds: 2, rate: null, concurrency: 4, counts: false },
    { seconds: 6, rate: null, concurrency: 4, counts: true },
  ]);
  t.match(
    phasesOf(mix, { seconds: 4 }).map(({ name, seconds }) => [name, seconds]),
    [
      ['first', 1],
      ['day', 2],
      ['night', 1],
    ],
  );
  const plain = parseMix('b.json', '{"requests": [{"kind": "request", "path": "/"}]}');
  t.match(phasesOf(plain, { rate: 9, seconds: 8 }), [{ name: 'load', seconds: 8 }]);
});
