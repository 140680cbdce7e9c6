/** Sizes of pictures: what the configuration and projects may say. */
import sharp from 'sharp';
import t from 'tap';
import { readImagePresets } from '#catalogue/image-presets.ts';
import { readConfig } from '#kernel/config/read-config.ts';
import { startSluice } from '../services/start-sluice.ts';

t.test('IMAGE_PRESETS', async (t) => {
  t.strictSame(readConfig({}).imagePresets, []);
  t.strictSame(readConfig({ IMAGE_PRESETS: 'thumb=320x240:cover, page_2=1600x1' }).imagePresets, [
    { name: 'thumb', width: 320, height: 240, fit: 'cover' },
    { name: 'page_2', width: 1600, height: 1, fit: 'inside' },
  ]);
  const many = Array.from({ length: 21 }, (_, at) => `p${at}=1x1`).join();
  for (const [text, problem] of [
    ...[
      'thumb',
      '=1x1',
      'a=1',
      'a=1x',
      'a=0x1',
      'a=4097x1',
      'a=1x1:stretch',
      'A=1x1',
      '-a=1x1',
      'a=1x1:',
    ].map((bad) => [bad, /IMAGE_PRESETS has ".*": it should be NAME=WIDTHxHEIGHT/] as const),
    ['a=1x1,b=2x2,a=3x3', /IMAGE_PRESETS has a twice/],
    [many, /21 presets.*20/],
  ] as const)
    t.throws(() => readConfig({ IMAGE_PRESETS: text }), { message: problem }, text);
});

t.test('presets as JSON', async (t) => {
  const problemsOf = (input: unknown): readonly string[] => {
    const problems: string[] = [];
    readImagePresets(input, problems);
    return problems;
  };
  t.strictSame(readImagePresets({ card: { width: 4, height: 3 } }, []), [
    { name: 'card', width: 4, height: 3, fit: 'inside' },
  ]);
  t.strictSame(problemsOf({}), []);
  for (const bad of [
    ...[null, [], 'thumb', { a: null }, { a: [] }, { a: {} }, { A: { width: 1, height: 1 } }],
    ...[{ a: { width: 0, height: 1 } }, { a: { width: 1.5, height: 1 } }, { a: { width: '1', height: 1 } }],
    ...[{ a: { width: 1, height: 1, fit: 'fill' } }, { a: { width: 1, height: 1, quality: 5 } }],
    { a: { width: 1, height: 5000 } },
  ])
    t.equal(problemsOf(bad).length, 1, JSON.stringify(bad));
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`p${at}`, { width: 1, height: 1 }]));
  t.match(problemsOf(many), [/21 presets/]);
});

t.test('a project sets presets of its own, and they apply at once', { timeout: 120_000 }, async (t) => {
  const server = await startSluice({ env: { IMAGE_PRESETS: 'thumb=32x32:cover' } });
  t.teardown(() => server.stop());
  const headers = { authorization: `Bearer ${server.token}` };
  const presets = async (project: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: 'PUT', body: JSON.stringify(body) };
    const answer = await fetch(`${server.baseUrl}/_projects_/${project}/files/presets`, { ...init, headers });
    return { status: answer.status, body: (await answer.json()) as unknown };
  };
  const ofServer = { thumb: { width: 32, height: 32, fit: 'cover' } };
  t.match(await presets('photos'), { status: 404, body: { code: 'project_not_found' } });
  t.match(await presets('photos', { a: { width: 0, height: 1 } }), {
    status: 400,
    body: { code: 'invalid_body' },
  });
  t.strictSame(await presets('photos', { card: { width: 20, height: 10, fit: 'cover' } }), {
    status: 200,
    body: { presets: { card: { width: 20, height: 10, fit: 'cover' } }, ofServer },
  });
  t.match(await presets('photos'), { status: 200, body: { presets: { card: { width: 20 } }, ofServer } });
  const png = await sharp({ create: { width: 90, height: 90, channels: 3, background: '#567' } })
    .png()
    .toBuffer();
  const put = await fetch(`${server.baseUrl}/_f_/photos/a.png`, { method: 'PUT', body: png, headers });
  const { name } = (await put.json()) as { name: string };
  const sizeOf = async (preset: string) => {
    const answer = await fetch(`${server.baseUrl}/_f_/photos/${name}?preset=${preset}`);
    if (answer.status !== 200) return answer.status;
    const { width, height } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
    return [width, height];
  };
  t.strictSame(await sizeOf('card'), [20, 10]);
  t.strictSame(await sizeOf('thumb'), [32, 32]);
  t.equal(await sizeOf('other'), 404);
  await presets('photos', {});
  t.match(await presets('photos'), { body: { presets: {} } });
  const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text();
  t.match(metrics, /sluice_pictures_made_total\S* 2/);
});
