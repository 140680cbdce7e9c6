import type { Log } from '#kernel/log/log.ts';

/** Kinds of refusals. */
const kindLimit = 20;
const quietFor = 60_000;

/** Logs an outage once, not with every command that it fails. */
export class RedisOutage {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #loggedAt = new Map<string, number>();
  #away = false;

  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  begin(reason: string): void {
    if (this.#away) return;
    this.#away = true;
    this.#log.error({ reason }, 'Redis is away: what needs it answers 503, the rest goes on');
  }

  end(): void {
    if (this.#away) this.#log.info('Redis is back');
    this.#away = false;
  }

  /** Redis answered with an error. @param kind its first word */
  refused(kind: string, reason: string): void {
    this.#tell(kind, 'Redis refuses commands', { reason });
  }

  /** One of several servers is unusable; the others may suffice. @param server `host:port` */
  serverFailed(server: string, reason: string): void {
    this.#tell(server, 'A Redis server can not be used', { server, reason });
  }

  #tell(kind: string, what: string, facts: Record<string, string>): void {
    const last = this.#loggedAt.get(kind);
    if (last !== undefined && this.#now() - last < quietFor) return;
    if (last === undefined && this.#loggedAt.size >= kindLimit) return;
    this.#loggedAt.set(kind, this.#now());
    this.#log.error(facts, what);
  }
}
