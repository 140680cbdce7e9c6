import { Attacker, type Case } from './attacker.ts';
import { PoliteClient } from './polite-client.ts';

/**
 * A well-behaved account instead of a hostile one: as many requests in flight, and the same pauses, but the requests of the
 * well-behaved client. Each is sent after the last answer.
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
