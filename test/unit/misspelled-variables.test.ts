import t from 'tap';
import { misspelledVariables } from '#kernel/config/misspelled-variables.ts';
import { readConfig, variableNames } from '#kernel/config/read-config.ts';
import { knownVariables } from '../services/known-variables.ts';

const problemsOf = (env: Record<string, string>): readonly string[] => {
  readConfig(env);
  return misspelledVariables(env, variableNames);
};

t.test(
  "a misspelled variable is named with the one that was meant, and others are nobody's business",
  async (t) => {
    t.strictSame(problemsOf({ PUBLC_URL: 'https://x' }), [
      'PUBLC_URL is set, but not known: did you mean PUBLIC_URL?',
    ]);
    t.match(problemsOf({ MAX_UPLOAD_BYTE: '1', S3_BUKCET: 'x' }), [/MAX_UPLOAD_BYTES/, /S3_BUCKET/]);
    const usual = {
      PATH: '/bin',
      HOME: '/root',
      HOSTNAME: 'a',
      LOGNAME: 'a',
      REDIS_PORT: 'tcp://1.2.3.4',
      LANG: 'C',
    };
    t.strictSame(problemsOf({ ...usual, PORT: '1', PUBLIC_URL: 'https://x', LESS: '', POST: '' }), []);
  },
);

t.test('no variable of ours is taken for another one of ours, whichever others are set', async (t) => {
  t.ok(variableNames.size > 50);
  const all = Object.fromEntries([...knownVariables()].map((name) => [name, 'x']));
  t.strictSame(misspelledVariables(all, variableNames), []);
});
