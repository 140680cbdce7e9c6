/** The process of all attackers. Begins at once, and prints what came of it when it is asked to end. */
import { Attacker } from './attacker.ts';
import { hostileCases } from './cases.ts';

/** By case. */
interface Orders {
  readonly url: string;
  readonly tokens: Readonly<Record<string, string>>;
  readonly file: string;
}

const { url, tokens, file } = JSON.parse(process.argv[2] as string) as Orders;
const over = new AbortController();
const { signal } = over;
const outcomes: Record<string, Attacker['outcomes']> = {};
const running: Promise<void>[] = [];
for (const [name, attack] of Object.entries(hostileCases({ file }))) {
  const token = tokens[name];
  if (token === undefined) continue;
  const attacker = new Attacker({ url, token, signal });
  outcomes[name] = attacker.outcomes;
  running.push(attack(attacker));
}
process.once('SIGTERM', async () => {
  over.abort();
  await Promise.race([Promise.all(running), new Promise((resolve) => setTimeout(resolve, 3000))]);
  process.stdout.write(`outcomes ${JSON.stringify(outcomes)}\n`, () => process.exit(0));
});
process.stdout.write('attacking\n');
