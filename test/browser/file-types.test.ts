/** What a browser makes of uploaded files by their addresses: media are shown, what could act does not. */
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import t from 'tap';
import { launchChromium } from '../services/launch-chromium.ts';
import { type SampleFilm, sampleFilm } from '../services/sample-films.ts';
import { sampleWav } from '../services/sample-media.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const red = { create: { width: 60, height: 40, channels: 3, background: 'red' } } as const;

interface Uploaded {
  readonly s3Link: string;
  readonly contentType: string;
  readonly width?: number;
  readonly height?: number;
  readonly duration?: number;
}

/** The type of the page at an address; null: it was downloaded. */
async function pageAt(page: Page, url: string): Promise<string | null> {
  const download = page.waitForEvent('download', { timeout: 2000 }).then(
    () => true,
    () => false,
  );
  const opened = await page.goto(url).then(
    () => true,
    () => false,
  );
  // a download ends the navigation
  if (!opened && (await download)) return null;
  return page.evaluate(() => document.contentType);
}

/** The sides and the duration that an element shows; null: it can't. */
function shownBy(page: Page, tag: 'img' | 'video' | 'audio', url: string): Promise<number[] | null> {
  return page.evaluate(
    ([name, src]) =>
      new Promise<number[] | null>((resolve) => {
        // biome-ignore lint/suspicious/noExplicitAny: an image or a medium
        const element = document.createElement(name as string) as any;
        element.onload = () => resolve([element.naturalWidth, element.naturalHeight]);
        element.onloadedmetadata = () =>
          resolve([element.videoWidth ?? 0, element.videoHeight ?? 0, element.duration]);
        element.onerror = () => resolve(null);
        element.src = src;
        document.documentElement.append(element);
      }),
    [tag, url],
  );
}

t.test('files by their addresses', { timeout: 180_000 }, async (t) => {
  const sluice = await sluiceFor(t);
  const browser = await launchChromium({ timeout: 90_000 });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const upload = async (name: string, bytes: Uint8Array, type: string): Promise<Uploaded> => {
    const response = await fetch(`${sluice.baseUrl}/_f_/demo/${name}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${sluice.token}`, 'content-type': type },
      body: Buffer.from(bytes),
    });
    t.equal(response.status, 200, name);
    return (await response.json()) as Uploaded;
  };

  await t.test('pictures have the size that is shown', async (t) => {
    for (const format of ['jpeg', 'png', 'webp', 'avif', 'gif'] as const) {
      const bytes = await sharp(red).withMetadata({ orientation: 6 })[format]().toBuffer();
      const { s3Link, width, height } = await upload(`a.${format}`, bytes, `image/${format}`);
      await page.goto(`${sluice.baseUrl}/healthz`);
      t.strictSame(await shownBy(page, 'img', s3Link), [width, height], format);
    }
  });

  await t.test('films and sounds under the names that phones send', async (t) => {
    const cases: [name: SampleFilm | 'wav', type: string, served: string][] = [
      ['m4a', 'audio/x-m4a', 'audio/mp4'],
      ['m4a', 'audio/m4a', 'audio/mp4'],
      ['mp3', 'audio/mp3', 'audio/mpeg'],
      ['opus', 'audio/opus', 'audio/ogg'],
      ['wav', 'audio/x-wav', 'audio/wav'],
      ['webm', 'video/webm', 'video/webm'],
      ['mkv', 'application/octet-stream', 'video/matroska'],
      ['mp4', 'video/x-m4v', 'video/mp4'],
      ['turned.mp4', 'video/mp4', 'video/mp4'],
      ['wide.mp4', 'video/mp4', 'video/mp4'],
    ];
    for (const [name, type, served] of cases) {
      const file = await upload(`f.${name}`, name === 'wav' ? sampleWav() : sampleFilm(name), type);
      t.equal(await pageAt(page, file.s3Link), served, `${type} is shown`);
      await page.goto(`${sluice.baseUrl}/healthz`);
      const shown = await shownBy(page, served.startsWith('audio/') ? 'audio' : 'video', file.s3Link);
      const { width = 0, height = 0, duration = 0 } = file;
      t.strictSame(shown?.slice(0, 2), [width, height], name);
      t.ok(Math.abs((shown?.[2] ?? 0) - duration) < 0.05, `${name}: ${shown?.[2]} s, ${duration} s`);
    }
  });

  await t.test('a PDF is shown in the sandbox', async (t) => {
    await page.setContent('<h1>A page</h1>');
    const { s3Link } = await upload('a.pdf', await page.pdf(), 'application/pdf');
    t.equal(await pageAt(page, s3Link), 'application/pdf');
    const { headers } = await fetch(s3Link);
    t.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox");
    t.match(headers.get('content-disposition'), /^inline/);
  });

  await t.test('what could act is downloaded, whatever it is called', async (t) => {
    const html = '<!doctype html><script>document.title = "acted"</script>';
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "acted"</script></svg>';
    for (const [bytes, type] of [
      [html, 'image/png'],
      [html, 'text/plain'],
      [html, 'application/pdf'],
      [svg, 'image/jpeg'],
      [svg, 'image/svg+xml'],
      [`<?xml version="1.0"?>${svg}`, 'application/dash+xml'],
      ['#!/bin/sh', 'text/plain'],
    ] as const) {
      const { s3Link } = await upload('a.png', Buffer.from(bytes), type);
      t.equal(await pageAt(page, s3Link), null, `${bytes.slice(0, 9)} as ${type}`);
      await page.goto(`${sluice.baseUrl}/healthz`);
      t.equal(await shownBy(page, 'img', s3Link), null);
      t.not(await page.title(), 'acted');
    }
    const manifest = `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:h="http://www.w3.org/1999/xhtml"><h:script>document.title = "acted"</h:script></MPD>`;
    const { s3Link } = await upload('a.mpd', Buffer.from(manifest), 'application/dash+xml');
    await pageAt(page, s3Link);
    t.not(await page.title(), 'acted');
  });
});
