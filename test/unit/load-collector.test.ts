import t from 'tap';
import { parseMix } from '../../load/mix/read-mix.ts';
import { Collector } from '../../load/run/collector.ts';

const { requests, ...rest } = parseMix('mix.json', '{"requests": [{"kind": "request", "path": "/"}]}');
const counts = { request: 0, sentBytes: 0, receivedBytes: 0, codes: {} };
const quiet = { busy: 0, late: 0, waited: 0 };

t.test(
  'a second in which a server stands still belongs to the phase that runs, and not to the warm-up',
  async (t) => {
    const collector = new Collector({
      mix: { ...rest, requests },
      workers: 1,
      costOf: () => ({ toolCpu: 0, targetCpu: null, targetMemory: null }),
      onWindow: () => {},
    });
    const phases = ['warm-up', 'load'].map((name) => collector.beginPhase(name, name === 'load'));
    const sent = [0, 0, 1, null, 1, null].map((place) => (place === null ? null : (phases[place] as number)));
    for (const [second, phase] of sent.entries()) {
      const of = phase === null ? [] : [{ ...counts, phase, sent: 1 }];
      collector.add({ kind: 'samples', second, outcomes: new Uint32Array(), counts: of });
      collector.endSecond(0, { kind: 'second', second, ...quiet });
    }
    t.strictSame(
      collector.windows.map(({ phase }) => phase),
      ['warm-up', 'warm-up', 'load', 'load', 'load', 'load'],
    );
  },
);
