import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { noneClosed } from '#catalogue/closed-accounts.ts';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { UploadKeys } from '#gateway/access/upload-keys.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { type CloudFiles, published } from '#gateway/catalogue/cloud-files.ts';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { createFileLinks } from '#gateway/links/file-links.ts';
import { OwnLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { gatewayRoutes } from '#gateway/routes.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { createRunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { Route } from '#server/http/http-types.ts';
import { directUploadsOn } from './direct-uploads.ts';
import { placesOn } from './folder-places.ts';
import { plentyOfMemory } from './multipart-harness.ts';
import { testDeployment } from './new-file.ts';
import { noTrash } from './no-trash.ts';
import { noUses } from './no-uses.ts';
import { noPictures } from './pictures.ts';
import { noSmallFiles, plentyOfSlots } from './plenty-of-slots.ts';
import { nobodyIsBound, noUsage, resumableUploadsOn } from './resumable-uploads.ts';
import { silentLog } from './silent-log.ts';

type GatewayDeps = Parameters<typeof gatewayRoutes>[0];

const keys = createConfiguredKeys('a secret of a test, long enough for it');
const projectOf = async (ownerId: string, slug: string) => ({ id: 'p', ownerId, slug });
const filesUrl = (slug: string): string => `http://files.test/_f_/${slug}`;
const fileUrl = ({ projectSlug, name }: CloudFile): string => `http://files.test/_f_/${projectSlug}/${name}`;

/** The routes of a gateway over stores that a test brings, with whatever else it brings in place of the usual. */
export function testGateway(
  deps: Pick<GatewayDeps, 'authenticate'> &
    Partial<GatewayDeps> & { readonly store: ObjectStore; readonly cloudFiles: CloudFiles },
): Route[] {
  const { log = silentLog(), memory = plentyOfMemory(), maxUploadBytes = 1_000_000, ...given } = deps;
  const {
    store,
    cloudFiles,
    digests = noDigests,
    quota = noQuota,
    projects = { ensure: projectOf, find: projectOf },
  } = given;
  return gatewayRoutes({
    deploymentId: testDeployment,
    usage: noUsage,
    projects,
    log,
    memory,
    maxUploadBytes,
    digests,
    quota,
    fileUrl,
    downloadUrl: fileUrl,
    filesUrl,
    resumable: resumableUploadsOn({
      store,
      cloudFiles,
      memory,
      maxUploadBytes,
      projects,
      log,
      digests,
      quota,
    }),
    places: placesOn(cloudFiles),
    ...directUploadsOn({ store, cloudFiles, filesUrl, projects, digests, quota, log }),
    maxDirectBytes: 2 ** 40,
    filesTtl: 0,
    smallestPart: 5 * 1024 * 1024,
    bucketOrigin: null,
    keys: new UploadKeys({ cloudFiles, locks: ownLocks() }),
    uploads: createRunningUploads(),
    downloads: plentyOfSlots(),
    smallFiles: noSmallFiles(),
    pictures: noPictures,
    redirects: null,
    checks: null,
    links: createFileLinks(keys),
    uploadLinks: new UploadLinks({ keys, uses: new OwnLinkUses() }),
    closed: noneClosed,
    fileLinks: 'public',
    boundAs: nobodyIsBound,
    trash: noTrash,
    used: noUses,
    ...given,
  });
}

/** Rows of files in a map, by their names. */
export function filesInMemory() {
  const rows = new Map<string, CloudFile>();
  const which = (holds: (file: CloudFile) => boolean): CloudFile[] => [...rows.values()].filter(holds);
  const cloudFiles: CloudFiles = {
    announce: () => () => {},
    insert: async (file) => void rows.set(file.name, file),
    findByName: async (name) => published(rows.get(name)),
    findAny: async (name) => rows.get(name) ?? null,
    withState: async ({ state, before, largest = Number.POSITIVE_INFINITY, limit }) =>
      which((file) => file.state === state && file.createdAt < before && file.size <= largest).slice(
        0,
        limit,
      ),
    async change(names, { trashedAt, state }) {
      for (const file of which(({ name }) => names.includes(name)))
        rows.set(file.name, {
          ...file,
          ...(trashedAt === undefined ? {} : { trashedAt: trashedAt ?? undefined }),
          ...(state === undefined ? {} : { state: state ?? undefined }),
        });
    },
    async findInFolder({ folder, path }) {
      const found = which((file) => file.folder === folder && file.path === path && published(file) !== null);
      return found.at(-1) ?? null;
    },
    currentInFolder: (place, signal) => cloudFiles.findInFolder(place, signal),
    async ownerOfFolder(folder) {
      const [file] = which((one) => one.folder === folder);
      return file === undefined ? null : { ...file, folder };
    },
    replacedBetween: async () => [],
    findByPrefixes: async (prefixes) =>
      which(({ name }) => prefixes.some((prefix) => name.startsWith(prefix))),
    namesWithRow: async (names) => new Set(names.filter((name) => rows.has(name))),
    madeBetween: async (after, before) => which(({ createdAt }) => createdAt >= after && createdAt < before),
    findDue: async ({ now, grace, trashedFor, limit, after = '', names }) =>
      which(({ name, expiresAt, trashedAt }) => {
        const [clock, expires, trashed] = [now - grace, expiresAt?.getTime(), trashedAt?.getTime()];
        const isDue = (time: number | undefined): boolean => time !== undefined && time <= clock;
        const isOver = isDue(expires) || isDue(trashed && trashed + trashedFor);
        return isOver && name > after && (names === undefined || names.includes(name));
      })
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .slice(0, limit),
    list: async ({ projectSlug, folder }) =>
      which((file) => file.projectSlug === projectSlug && (folder === undefined || file.folder === folder)),
    count: async () => rows.size,
    findByDigest: async ({ sha256 }) => which((file) => file.sha256 === sha256)[0] ?? null,
    async usedBy(account) {
      const files = which(({ ownerId }) => ownerId === account);
      return { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) };
    },
    remove: async (name) => rows.delete(name),
    async removeOwner(account) {
      for (const { name } of which(({ ownerId }) => ownerId === account)) rows.delete(name);
    },
  };
  return { rows, cloudFiles };
}
