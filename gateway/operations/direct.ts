import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import type { UploadedPart } from '#objects/direct-store.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import { withLifetime } from '../access/file-lifetime.ts';
import { assertFits, type UploadAccess, verifiedType } from '../access/upload-access.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { AddressedPart, DirectUploads, PlanReference, PlanSender } from '../direct/direct-uploads.ts';
import {
  maxCompletionBytes,
  maxPlanBytes,
  mostParts,
  readPlanRequest,
  readSentParts,
} from '../direct/plan-request.ts';
import { cloudFileJson } from '../files/cloud-file-json.ts';
import { draftFile } from '../files/file-draft.ts';
import { propertiesOfQuery } from '../files/sent-properties.ts';
import type { FolderPlaces } from '../folders/folder-places.ts';
import { addressLifetime, type DirectPlan, partCount } from '../plans/direct-plan.ts';
import type { FileChecks } from '../quarantine/file-checks.ts';

export interface DirectDeps {
  readonly access: UploadAccess;
  readonly direct: DirectUploads;
  readonly places: FolderPlaces;
  /** Null: files are not scanned. */
  readonly checks: FileChecks | null;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

/** Most parts whose addresses are in one answer. */
export const partsAtOnce = 100;
const rangePattern = /^(\d{1,5})(?:-(\d{1,5}))?$/;

/** POST /_f_/{project_slug}/direct: plans an upload whose bytes the client sends to the object store by itself. */
export function planOperation({ access, direct, places, checks }: DirectDeps): Handler {
  // the time in an id is that of its plan
  const newId = createUuidV7();
  return async (request) => {
    const projectSlug = readProjectSlug(request);
    const grant = await access.begin(request, projectSlug, direct.maxDirectBytes);
    const wanted = readPlanRequest(await readJson(request, maxPlanBytes));
    const properties = { ...propertiesOfQuery(request), ...wanted.properties };
    const { userId: ownerId, link, bound } = grant;
    const place = { ownerId, projectSlug, fileName: wanted.name, bound };
    const placed = await places.place(properties, place, request.signal);
    const file = draftFile(
      withLifetime(grant, { ...placed, fileName: wanted.name, contentType: wanted.contentType }),
      {
        id: newId(),
        deploymentId: direct.deploymentId,
        ownerId,
        owner: bound?.user ?? undefined,
        projectSlug,
      },
    );
    assertFits(grant, file, wanted.size, wanted.size);
    checks?.assertTakes(wanted.size);
    const verified = verifiedType(grant);
    const sender: PlanSender = {
      ...(verified !== undefined && { verifiedType: verified }),
      ...(bound && { bound: true }),
      ...(link && { link: { id: link.id, times: link.times } }),
    };
    const plan = await direct.plan(file, wanted, sender, request.signal);
    const location = addressOf(plan) + (await access.addressQuery(grant, file.name));
    const parts = await direct.addresses(plan, 1, partsAtOnce);
    const { headers, body } = noStoreJson(planJson(direct, { plan, location, parts, stored: null }));
    return { status: 201, headers: { location, ...headers }, body };
  };
}

/** GET /_f_/{project_slug}/direct/{id} */
export function planStateOperation(deps: DirectDeps): Handler {
  const { direct, fileUrl } = deps;
  return async (request) => {
    const { range, uploaded } = readStateQuery(request);
    const upload = await readPlanReference(deps, request);
    const location = request.path + (request.rawQuery.includes('upload=') ? uploadQuery(request) : '');
    const { plan, file } = await direct.find(upload, request.signal);
    if (file !== null) {
      const { name: id } = file;
      return noStoreJson({ id, state: 'complete', location, file: cloudFileJson(file, fileUrl(file)) });
    }
    const [parts, stored] = await Promise.all([
      range === null ? null : direct.addresses(plan, ...range),
      uploaded ? direct.uploaded(plan, request.signal) : null,
    ]);
    return noStoreJson(planJson(direct, { plan, location, parts, stored }));
  };
}

/** POST /_f_/{project_slug}/direct/{id}/complete */
export function completeDirectOperation(deps: DirectDeps): Handler {
  const { direct, fileUrl } = deps;
  return async (request) => {
    const verify = readVerify(request);
    const upload = await readPlanReference(deps, request);
    const isEmpty = request.body.contentLength === 0;
    const sent = isEmpty ? null : readSentParts(await readJson(request, maxCompletionBytes));
    const made = await direct.complete(upload, { sent, verify }, request.signal);
    const file = deps.checks === null ? made : await deps.checks.settle(made);
    return noStoreJson(cloudFileJson(file, fileUrl(file)));
  };
}

/** DELETE /_f_/{project_slug}/direct/{id} */
export function dropDirectOperation(deps: DirectDeps): Handler {
  return async (request) => {
    await deps.direct.drop(await readPlanReference(deps, request), request.signal);
    return { status: 204, headers: { 'cache-control': 'no-store' } };
  };
}

/** Throws 404, as for a missing one, for an upload that rules do not leave to the sender. */
async function readPlanReference(
  { access, direct }: DirectDeps,
  request: HttpRequest,
): Promise<PlanReference> {
  const projectSlug = readProjectSlug(request);
  const { name = '' } = request.params;
  const { userId: ownerId, bound } = await access.senderOfUpload(request, projectSlug, name);
  const upload = { ownerId, projectSlug, name };
  if (bound !== undefined) await direct.assertMayContinue(upload, bound, request.signal);
  return upload;
}

function addressOf({ file: { projectSlug, name } }: DirectPlan): string {
  return `/_f_/${projectSlug}/direct/${name}`;
}

/** The query by which a client without a token goes on. */
function uploadQuery({ query }: HttpRequest): string {
  const value = query.find(([name]) => name === 'upload')?.[1] ?? '';
  return `?upload=${encodeURIComponent(value)}`;
}

function planJson(
  direct: DirectUploads,
  {
    plan,
    location,
    parts,
    stored,
  }: {
    readonly plan: DirectPlan;
    readonly location: string;
    readonly parts: readonly AddressedPart[] | null;
    readonly stored: readonly UploadedPart[] | null;
  },
) {
  const { file, size, partBytes } = plan;
  return {
    id: file.name,
    state: 'open',
    location,
    size,
    partBytes,
    partCount: partCount(plan),
    expiresAt: direct.expiryOf(plan).toISOString(),
    // JSON leaves out what is undefined
    uploaded: stored ?? undefined,
    addressesExpireAt: parts === null ? undefined : addressesExpireAt(),
    parts: parts?.map(({ number, offset, size, url, headers }) => ({
      number,
      offset,
      size,
      method: 'PUT',
      url,
      headers,
    })),
  };
}

function addressesExpireAt(): string {
  return new Date(Date.now() + addressLifetime * 1000).toISOString();
}

/** Throws 400 for a range of more parts than one answer has. */
function readStateQuery({ query }: HttpRequest): {
  readonly range: readonly [first: number, last: number] | null;
  readonly uploaded: boolean;
} {
  const value = (wanted: string) => query.find(([name]) => name === wanted)?.[1];
  const uploaded = value('uploaded');
  if (uploaded !== undefined && uploaded !== 'true' && uploaded !== 'false')
    throw invalidOptions(['uploaded should be true or false']);
  const text = value('parts');
  if (text === undefined) return { range: null, uploaded: uploaded === 'true' };
  const [, begin, end = begin] = rangePattern.exec(text) ?? [];
  const [first, last] = [Number(begin), Number(end)];
  const isRange = first >= 1 && last >= first && last <= mostParts && last - first < partsAtOnce;
  if (!isRange)
    throw invalidOptions([
      `parts should be a number from 1 to ${mostParts}, or a range of at most ${partsAtOnce} such as 101-200`,
    ]);
  return { range: [first, last], uploaded: uploaded === 'true' };
}

function readVerify({ query }: HttpRequest): boolean {
  const value = query.find(([name]) => name === 'verify')?.[1];
  if (value !== undefined && value !== 'bytes') throw invalidOptions(['verify should be bytes']);
  return value === 'bytes';
}
