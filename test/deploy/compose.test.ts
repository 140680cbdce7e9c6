/** docker-compose.yml, the Dockerfile and what they mount, held against the code and against each other. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { readConfig } from '../../common/kernel/config/read-config.ts';
import { makeKeys } from '../../deploy/compose/init/make-keys.ts';
import { longestStop } from '../services/drain-time.ts';
import { knownVariables } from '../services/known-variables.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');
const text = await readFile(join(root, 'docker-compose.yml'), 'utf8');
const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
const balancer = await readFile(join(root, 'deploy/compose/load-balancer/haproxy.cfg'), 'utf8');

interface Service {
  image: string;
  build?: { context: string; target?: string };
  user?: string;
  privileged?: boolean;
  network_mode?: string;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  restart?: string;
  mem_limit?: string;
  stop_grace_period?: string;
  command?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  networks?: string[];
  ports?: string[];
  volumes?: string[];
  deploy?: { replicas: number };
}
interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
  volumes: Record<string, unknown>;
}

// what docker compose makes of ${NAME:-default} where nothing is set
const compose = parse(text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`there is no service ${name}`);
  return found;
};
const ours = ['gateway', 'query', 'console'] as const;
const once = ['keys', 'bucket'];

const folder = await temporaryFolder(t);
const settings = { folder, host: 'files.example.com', bucket: 'sluice-files' };
await makeKeys(settings);
const variables = async (path: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await readFile(join(folder, path), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
const sharedKeys = await variables('sluice/sluice.env');
const keys = { ...sharedKeys, ...(await variables('gateway/gateway.env')) };

t.test('what a process is given is a configuration, and each variable means something', async (t) => {
  const known = knownVariables();
  for (const name of ours) {
    // by the files that its command names
    const env = { ...(name === 'gateway' ? keys : sharedKeys), ...service(name).environment };
    const config = readConfig(env);
    t.match(config, {
      host: '0.0.0.0',
      port: 8080,
      clickhouse: { user: 'sluice' },
      redis: { host: 'valkey' },
    });
    t.match(config.s3, name === 'gateway' ? { bucket: 'sluice-files', forcePathStyle: true } : undefined);
    t.strictSame(
      Object.keys(env).filter((key) => !known.has(key)),
      [],
    );
  }
});

t.test('the keys of a process are mounted where its command reads them, and no others', async (t) => {
  for (const [name, folders] of [
    ['gateway', ['sluice', 'gateway']],
    ['query', ['sluice']],
    ['console', ['sluice']],
  ] as const) {
    const { command = [], volumes = [] } = service(name);
    t.strictSame(
      command.filter((argument) => argument.startsWith('--env-file=')),
      folders.map((folder) => `--env-file=/keys/${folder}/${folder}.env`),
    );
    t.strictSame(
      volumes,
      folders.map((folder) => `keys-${folder}:/keys/${folder}:ro`),
    );
    const [script] = command.slice(-1);
    t.ok((await stat(join(root, script?.replace(/\.js$/, '.ts') ?? ''))).isFile());
  }
});

t.test('addresses name services and their ports', async (t) => {
  const { environment: env = {} } = service('gateway');
  for (const [address, port] of [
    [env.CLICKHOUSE_URL, 8123],
    [env.S3_ENDPOINT, 8333],
    [keys.REDIS_URL, 6379],
  ] as const) {
    const url = new URL(address ?? '');
    t.ok(compose.services[url.hostname], `${url.hostname} is a service`);
    t.equal(Number(url.port), port);
    const shared = service(url.hostname).networks?.filter((name) =>
      service('gateway').networks?.includes(name),
    );
    t.ok((shared?.length ?? 0) > 0, `the gateways reach ${url.hostname}`);
  }
  const front = service('load-balancer').environment ?? {};
  t.match(front, {
    GATEWAYS: `gateway:${env.PORT}`,
    QUERIES: `query:${env.PORT}`,
    CONSOLES: `console:${env.PORT}`,
  });
  for (const [, name] of balancer.matchAll(/"\$\{([A-Z_]+)\}"/g)) t.ok(front[name ?? ''], `${name} is set`);
  t.ok(service('load-balancer').ports?.every((port) => port.endsWith(`:${front.LISTEN?.split(':')[1]}`)));
  t.match(dockerfile, new RegExp(`EXPOSE ${env.PORT}\n`));
  t.ok(env.PUBLIC_FILES_URL?.endsWith('/_files_'));
  t.match(balancer, /\^\/_files_\//);
});

t.test('what a load balancer sends where', async (t) => {
  t.match(balancer, /acl gateways path_beg \/_f_\/\n/);
  t.match(balancer, /use_backend gateways if linked or gateways !queried\n/);
  t.match(balancer, /acl consoles path \/ \/_console_\n +acl consoles path_beg \/_console_\/\n/);
  t.match(balancer, /set-header X-Forwarded-Proto https/);
  t.match(balancer, /uri \/readyz/);
});

t.test('only the load balancer is reached from outside', async (t) => {
  t.strictSame(
    services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name),
    ['load-balancer'],
  );
  const open = Object.entries(compose.networks).filter(([, network]) => network?.internal !== true);
  t.strictSame(
    open.map(([name]) => name),
    ['edge'],
  );
  for (const [name, { networks, network_mode }] of services) {
    t.ok(network_mode === 'none' || (networks?.length ?? 0) > 0, `${name} is in a network`);
    if (name !== 'load-balancer') t.notOk(networks?.includes('edge'), name);
  }
  // what is in there is believed about HTTPS
  t.strictSame(
    services.filter(([, { networks }]) => networks?.includes('front')).map(([name]) => name),
    ['gateway', 'query', 'console', 'load-balancer'],
  );
});

t.test('no service may do more than it must', async (t) => {
  for (const [name, given] of services) {
    t.equal(given.privileged, undefined, name);
    t.equal(given.read_only, true, name);
    t.strictSame(given.cap_drop, ['ALL'], name);
    t.equal(given.cap_add, undefined, name);
    t.strictSame(given.security_opt, ['no-new-privileges:true'], name);
    t.match(given.user, /^[1-9]\d*:[1-9]\d*$/, name);
    t.match(given.mem_limit, /^\d+[mg]$/, name);
    if (once.includes(name)) t.match(given.restart, /^(no|on-failure:\d+)$/, name);
    else t.equal(given.restart, 'unless-stopped', name);
  }
});

t.test('images are pinned, and built ones are named by our version', async (t) => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  for (const [name, { image, build }] of services) {
    if (build === undefined) t.match(image, /^[a-z0-9/.-]+:\d+\.\d+(\.\d+)*(-alpine)?$/, name);
    else t.ok(image.endsWith(`:${version}`), name);
    if (build?.target !== undefined) t.match(dockerfile, new RegExp(` AS ${build.target}$`, 'm'));
  }
  const [, base] = /^ARG NODE_IMAGE=(.*)$/m.exec(dockerfile) ?? [];
  const script = await readFile(join(root, 'test/services/debian13.sh'), 'utf8');
  const [, tested] = /^node=(.*)$/m.exec(script) ?? [];
  t.equal(base, `node:${tested}-trixie-slim`, 'the version that npm run test:debian13 tests');
});

t.test('a service waits for what it needs, and says when it can work', async (t) => {
  for (const [name, { depends_on = {}, healthcheck, build }] of services) {
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      const other = service(needed);
      if (once.includes(needed)) t.equal(condition, 'service_completed_successfully', `${name}, ${needed}`);
      else {
        t.equal(condition, 'service_healthy', `${name}, ${needed}`);
        t.ok(other.healthcheck ?? other.build, `${needed} says when it is healthy`);
      }
    }
    if (!once.includes(name)) t.ok(healthcheck ?? build, `${name} has a health check`);
  }
  t.match(dockerfile, /HEALTHCHECK .*"cli\/healthcheck\.js"/);
});

t.test('two of each but the dashboard, and time enough to end', async (t) => {
  for (const name of ours) {
    const { deploy, stop_grace_period, environment = {} } = service(name);
    t.equal(deploy?.replicas, name === 'console' ? undefined : 2);
    const grace = Number(/^(\d+)s$/.exec(stop_grace_period ?? '')?.[1]) * 1000;
    t.ok(grace > longestStop(environment), `${grace} is more than ${longestStop(environment)}`);
    // out of the load balancer before it stops serving: two bad checks, a second or half of one apart
    const [, fall] = / fall (\d+) /.exec(balancer) ?? [];
    t.ok(Number(environment.DRAIN_DELAY_MS) > (Number(fall) + 1) * 1000);
  }
});

t.test('what is mounted exists, and every volume is one', async (t) => {
  for (const [name, { volumes = [] }] of services) {
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('./')) t.ok((await stat(join(root, source))).isFile(), `${name}: ${source}`);
      else t.ok(source in compose.volumes, `${name}: ${source}`);
    }
  }
  const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0]));
  for (const name of Object.keys(compose.volumes)) t.ok(used.includes(name), `${name} is used`);
});

t.test('keys are made once, differ each time, and are in no file of the repository', async (t) => {
  t.equal(await makeKeys(settings), false);
  t.strictSame(await variables('sluice/sluice.env'), sharedKeys);
  const other = join(folder, 'other');
  t.equal(await makeKeys({ ...settings, folder: other }), true);
  const secrets = Object.values(keys);
  const others = {
    ...(await variables('other/sluice/sluice.env')),
    ...(await variables('other/gateway/gateway.env')),
  };
  t.equal(new Set([...secrets, ...Object.values(others)]).size, 2 * secrets.length);
  t.notMatch(text, /PASSWORD: |SECRET_ACCESS_KEY: |TOKEN_SECRET: /);

  const clickhouse = await readFile(join(folder, 'clickhouse/clickhouse.env'), 'utf8');
  t.notMatch(clickhouse, keys.CLICKHOUSE_PASSWORD ?? '-');
  const used = await readFile(join(root, 'deploy/compose/clickhouse/users.xml'), 'utf8');
  const config = await readFile(join(root, 'deploy/compose/clickhouse/config.xml'), 'utf8');
  for (const [, name] of (used + config).matchAll(/from_env="([A-Z0-9_]+)"/g)) {
    t.match(clickhouse, new RegExp(`^${name}=[0-9a-f]{64}$`, 'm'));
  }
  t.equal(
    await readFile(join(folder, 'valkey/valkey.conf'), 'utf8'),
    `requirepass ${new URL(keys.REDIS_URL ?? '').password}\n`,
  );
  t.match(JSON.parse(await readFile(join(folder, 's3/s3.json'), 'utf8')), {
    identities: [
      { name: 'admin', actions: ['Admin'] },
      {
        name: 'sluice',
        credentials: [{ accessKey: keys.S3_ACCESS_KEY_ID, secretKey: keys.S3_SECRET_ACCESS_KEY }],
      },
    ],
  });
  t.strictSame((await readdir(join(folder, 'tls'))).sort(), ['sluice.pem']);
});

t.test('the image takes what it needs and nothing that is ignored', async (t) => {
  const ignored = await readFile(join(root, '.dockerignore'), 'utf8');
  const allowed = new Set([...ignored.matchAll(/^!(.+)$/gm)].map(([, path]) => path));
  for (const [, list = ''] of dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)) {
    for (const source of list.split(' ')) {
      t.ok(allowed.has(source.replace(/^\.\//, '')), `${source} is not ignored`);
      t.ok(await stat(join(root, source)), source);
    }
  }
});
