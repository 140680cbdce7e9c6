/** The process of all attackers, or of as many neighbours. Starts with the first message, and prints the outcomes when it ends. */
import { Attacker } from './attacker.ts';
import { hostileCases } from './cases.ts';
import { Neighbour } from './neighbour.ts';

interface Orders {
  readonly url: string;
  readonly hostile: boolean;
  /** By case. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly file: string;
}

const { url, hostile, tokens, file } = JSON.parse(process.argv[2] as string) as Orders;
const over = new AbortController();
const { signal } = over;
const outcomes: Record<string, Attacker['outcomes']> = {};
const starts: (() => Promise<void>)[] = [];
let running: Promise<void>[] = [];
for (const [name, attack] of Object.entries(hostileCases({ file }))) {
  const token = tokens[name];
  if (token === undefined) continue;
  const account = { url, token, signal };
  const attacker = hostile ? new Attacker(account) : await Neighbour.open(account);
  outcomes[name] = attacker.outcomes;
  starts.push(() => attack(attacker));
}
process.once('message', () => {
  running = starts.map((start) => start());
});
process.once('SIGTERM', async () => {
  over.abort();
  await Promise.race([Promise.all(running), new Promise((resolve) => setTimeout(resolve, 3000))]);
  process.stdout.write(`outcomes ${JSON.stringify(outcomes)}\n`, () => process.exit(0));
});
process.stdout.write('prepared\n');
