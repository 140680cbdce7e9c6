/** The manifests: their schemas, and what they say of the code. */
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { readConfig } from '../../common/kernel/config/read-config.ts';
import { longestStop } from '../services/drain-time.ts';
import { knownVariables } from '../services/known-variables.ts';
import { consoleTable, routeTable } from '../services/openapi-document.ts';

const folder = join(import.meta.dirname, '../../deploy/kubernetes');
// `npm test -- deploy` installs it: this folder's package.json
const load = createRequire(import.meta.url);
type Model = new (manifest: unknown) => { validate(): void };
const schemas = (group: string): Record<string, Model> => load(`kubernetes-models/${group}`);
const { ConfigMap, Namespace, Secret, Service } = schemas('v1');
const { Ingress, NetworkPolicy } = schemas('networking.k8s.io/v1');
const { Deployment } = schemas('apps/v1');
const { HorizontalPodAutoscaler } = schemas('autoscaling/v2');
const { PodDisruptionBudget } = schemas('policy/v1');
const models = {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Secret,
  Service,
};
type Kind = keyof typeof models;
interface Manifest {
  kind: Kind;
  metadata: { name: string; namespace?: string };
  // biome-ignore lint/suspicious/noExplicitAny: the schema has been held against it
  spec: any;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

const files = (await readdir(folder)).filter((name) => /\.yaml(\.template)?$/.test(name)).sort();
const documents = (
  await Promise.all(files.map(async (file) => parseAllDocuments(await readFile(join(folder, file), 'utf8'))))
).flat();
const manifests = documents.map((document) => document.toJS() as Manifest);
const find = (kind: Kind, name: string): Manifest => {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};
const components = ['gateway', 'query', 'console'] as const;

/** What a pod has in its environment, with something in the place of each secret. */
function environmentOf(component: (typeof components)[number]): Record<string, string> {
  const [container] = find('Deployment', component).spec.template.spec.containers;
  const secrets: Record<string, string> = {
    CLICKHOUSE_PASSWORD: 'password',
    REDIS_URL: 'rediss://sluice:password@redis.example.com:6379/0',
    LOGIN_TOKEN_SECRET: 'x'.repeat(64),
    S3_ACCESS_KEY_ID: 'key',
    S3_SECRET_ACCESS_KEY: 'secret',
  };
  const env: Record<string, string> = {};
  for (const { configMapRef, secretRef } of container.envFrom) {
    if (configMapRef !== undefined) Object.assign(env, find('ConfigMap', configMapRef.name).data);
    for (const key of Object.keys(
      secretRef === undefined ? {} : (find('Secret', secretRef.name).stringData ?? {}),
    )) {
      env[key] = secrets[key] ?? '';
    }
  }
  return env;
}

t.test('every document is YAML, and as its schema says', async (t) => {
  t.ok(documents.length > 10);
  for (const document of documents) t.strictSame(document.errors, []);
  for (const manifest of manifests) {
    const name = `${manifest.kind} ${manifest.metadata.name}`;
    t.ok(manifest.kind in models, name);
    const Model = models[manifest.kind] as Model;
    t.doesNotThrow(() => new Model(manifest).validate(), name);
  }
});

t.test('everything is in one namespace', async (t) => {
  for (const { kind, metadata } of manifests) {
    if (kind !== 'Namespace') t.equal(metadata.namespace, 'sluice', `${kind} ${metadata.name}`);
  }
});

t.test('the template of the secrets has no values, and no name that a plain apply takes', async (t) => {
  for (const { kind, stringData = {} } of manifests) {
    if (kind === 'Secret') for (const [key, value] of Object.entries(stringData)) t.equal(value, '', key);
  }
  t.ok(files.includes('secret.yaml.template'));
});

for (const component of components) {
  t.test(`${component}: its environment is a configuration, and each variable means something`, async (t) => {
    const env = environmentOf(component);
    t.match(readConfig(env), {
      port: 8080,
      s3: component === 'gateway' ? { bucket: 'sluice-files' } : undefined,
    });
    const known = knownVariables();
    t.strictSame(
      Object.keys(env).filter((key) => !known.has(key)),
      [],
    );
  });

  t.test(`${component}: names, labels and ports agree`, async (t) => {
    const { spec } = find('Deployment', component);
    const { labels } = spec.template.metadata;
    const [container] = spec.template.spec.containers;
    const { selector, ports } = find('Service', component).spec;
    t.strictSame(spec.selector.matchLabels, labels);
    t.strictSame(selector, labels);
    t.strictSame(find('PodDisruptionBudget', component).spec.selector.matchLabels, labels);
    for (const spread of spec.template.spec.topologySpreadConstraints) {
      t.strictSame(spread.labelSelector.matchLabels, labels);
    }
    t.equal(find('HorizontalPodAutoscaler', component).spec.scaleTargetRef.name, component);
    t.ok(container.resources.requests.cpu, 'what the autoscaler measures by');
    t.equal(`${container.ports[0].containerPort}`, environmentOf(component).PORT);
    t.equal(ports[0].targetPort, container.ports[0].name);
    t.equal(container.volumeMounts[0].mountPath, environmentOf(component).DATA_DIR);
    t.equal(container.command[1], `${component}/main.js`);
  });

  t.test(`${component}: probes ask for what there is, and a pod has time to end`, async (t) => {
    const pod = find('Deployment', component).spec.template.spec;
    const [container] = pod.containers;
    t.equal(container.startupProbe.httpGet.path, '/healthz');
    t.equal(container.livenessProbe.httpGet.path, '/healthz');
    t.equal(container.readinessProbe.httpGet.path, '/readyz');
    const env = environmentOf(component);
    t.ok(pod.terminationGracePeriodSeconds * 1000 > longestStop(env));
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    t.ok(Number(env.DRAIN_DELAY_MS) > periodSeconds * failureThreshold * 1000);
  });

  t.test(`${component}: a pod may do no more than it must`, async (t) => {
    const pod = find('Deployment', component).spec.template.spec;
    t.match(pod, { automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    t.match(pod.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    t.match(pod.containers[0].image, /:\d+\.\d+\.\d+$/);
  });
}

t.test('the paths of the ingress lead each route to the service that has it', async (t) => {
  const pathOf = (name: string): string => find('Ingress', name).spec.rules[0].http.paths[0].path;
  for (const name of components) {
    t.equal(find('Ingress', name).spec.rules[0].http.paths[0].backend.service.name, name);
  }
  const ofTheDashboard = consoleTable().map(({ method, path }) => `${method} ${path}`);
  for (const route of [...routeTable(), ...ofTheDashboard]) {
    const [method, path = ''] = route.split(' ');
    // files as tables need an engine, which the image does not have
    if (path.startsWith('/_f_/') && (method === 'QUERY' || path.endsWith('/_find_'))) continue;
    const longest =
      (['gateway', 'console'] as const).find((name) => path.startsWith(pathOf(name))) ?? 'query';
    const [, room = ''] = path.split('/');
    t.equal(longest, { _f_: 'gateway', _console_: 'console' }[room] ?? 'query', route);
    t.ok(path.startsWith(pathOf('query')));
  }
});
