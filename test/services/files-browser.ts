import type { Test } from 'tap';
import {
  type ConsoleBrowser,
  makeToken,
  openConsole,
  register,
  type WatchedPage,
} from './console-browser.ts';
import { seriousFindings } from './records-browser.ts';

/** A CloudFile, as an upload answers it. */
interface UploadedFile {
  readonly name: string;
  readonly folder?: string;
}

interface SentFile {
  readonly name: string;
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer> | Buffer | string;
}

/** A dashboard in which somebody is logged in, for its pages of files. */
export interface FilesBrowser extends WatchedPage {
  readonly server: ConsoleBrowser;
  /** Uploads with a token of the same account. @param query of the upload, such as `expiresIn=60` */
  send(project: string, file: SentFile, query?: string): Promise<Response>;
  /** The same. Throws unless it is stored. */
  put(project: string, file: SentFile, query?: string): Promise<UploadedFile>;
  /**
   * On a wide screen and on a phone, axe-core finds nothing serious, and the page scrolls in one direction only. With
   * SCREENSHOTS=FOLDER it is photographed.
   */
  usable(t: Test, name: string): Promise<void>;
}

const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 760 };

/** @param env of the server */
export async function openFiles(env: Readonly<Record<string, string>>): Promise<FilesBrowser> {
  const server = await openConsole({ env });
  const { page, problems } = await server.open({ reducedMotion: 'reduce', viewport: wide });
  await register(server, page);
  const token = await makeToken(server, page, 'files');
  const send: FilesBrowser['send'] = (project, { name, type, body }, query = '') =>
    fetch(`${server.sluice.baseUrl}/_f_/${project}/${name}?${query}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body: new Blob([body as Uint8Array<ArrayBuffer> | string]),
    });
  return {
    ...{ server, page, problems, send },
    async put(project, file, query) {
      const response = await send(project, file, query);
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return JSON.parse(text);
    },
    async usable(t, name) {
      const folder = process.env.SCREENSHOTS;
      for (const size of [wide, narrow]) {
        await page.setViewportSize(size);
        await page.waitForLoadState('networkidle');
        t.strictSame(await seriousFindings(page), [], `${name}, ${size.width} pixels`);
        t.ok(
          await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
          `${name}: ${size.width} pixels scroll in one direction`,
        );
        const path = `${folder}/${name}-${size.width}.png`;
        if (folder !== undefined) await page.screenshot({ path, fullPage: true });
      }
      await page.setViewportSize(wide);
    },
  };
}
