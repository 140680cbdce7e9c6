import { Histogram, type Registry } from 'prom-client';

/** Seconds: from an answer from memory to the longest that a request may take. */
export const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** The durations of calls or requests with the same labels. */
export class Durations {
  readonly labels: Readonly<Record<string, string | number>>;
  /** Counts by bucket; the last one counts durations above all buckets. */
  readonly #counts = new Array<number>(durationBuckets.length + 1).fill(0);
  #sum = 0;

  constructor(labels: Readonly<Record<string, string | number>>) {
    this.labels = labels;
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < durationBuckets.length && seconds > (durationBuckets[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += seconds;
  }

  /** The series in the format of prom-client's histograms. */
  series(name: string) {
    let count = 0;
    const buckets = this.#counts.map((more, bucket) => {
      count += more;
      const le = durationBuckets[bucket] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...this.labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.labels, value: count },
    ];
  }
}

/** A histogram of durations that are counted elsewhere: prom-client's own would build a string of its labels on every call. */
export class DurationHistogram extends Histogram {
  readonly #name: string;
  readonly #read: () => Iterable<Durations>;

  constructor(args: {
    readonly name: string;
    readonly help: string;
    readonly registers: Registry[];
    readonly read: () => Iterable<Durations>;
  }) {
    super({ name: args.name, help: args.help, registers: args.registers });
    this.#name = args.name;
    this.#read = args.read;
  }

  override async get(): ReturnType<Histogram['get']> {
    const values = [...this.#read()].flatMap((durations) => durations.series(this.#name));
    return { ...(await super.get()), values };
  }
}
