/** A server that took a statement no longer answers anything. */
export class ServerSilent extends Error {
  constructor(url: string) {
    super(`the ClickHouse server at ${url} no longer answers`);
    this.name = 'ServerSilent';
  }
}
