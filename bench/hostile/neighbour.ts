import { Attacker, type Case } from './attacker.ts';
import { PoliteClient } from './polite-client.ts';

/**
 * A well-behaved account in the place of a hostile one: as many requests in flight, and as long a pause after each, but
 * those that the client sends. One is sent when the one before was answered.
 */
export class Neighbour extends Attacker {
  readonly #client: PoliteClient;

  constructor(args: { url: string; token: string; signal: AbortSignal }) {
    super(args);
    this.#client = new PoliteClient(args);
  }

  override keep(...[many, pause]: Parameters<Attacker['keep']>): ReturnType<Case> {
    return super.keep(many, pause, async () => this.count(await this.#client.sendAny()));
  }
}
