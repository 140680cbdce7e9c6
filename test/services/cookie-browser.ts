/** A browser as far as logins need it: it keeps cookies by host, and follows redirects when it is asked to. */
export class CookieBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** One request, without following its redirect. */
  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const known = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, known);
    const cookie = [...known].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(init.headers as Record<string, string>), ...(cookie && { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0\b/i.test(line)) known.delete(name);
      else known.set(name, value);
    }
    return response;
  }

  /** Takes the cookies of another browser. */
  copy(other: CookieBrowser): void {
    for (const [host, cookies] of other.#cookies) this.#cookies.set(host, new Map(cookies));
  }

  /** Deletes the cookies of a host, so that it has no session here. */
  forget(url: string): void {
    this.#cookies.delete(new URL(url).host);
  }

  /** Follows redirects up to an address that begins so. @returns that address, unopened */
  async follow(url: string, end: string): Promise<string> {
    for (let at = url, steps = 0; steps < 20; steps++) {
      if (at.startsWith(end)) return at;
      const response = await this.open(at);
      const location = response.headers.get('location');
      if (location === null) throw new Error(`${at}: ${response.status} ${await response.text()}`);
      at = new URL(location, at).href;
    }
    throw new Error('redirected too often');
  }
}
