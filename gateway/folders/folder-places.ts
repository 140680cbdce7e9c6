import { assertGranted } from '#auth/authenticate.ts';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { touchable } from '#catalogue/file-rules/touchable.ts';
import { fileExists, fileInUse, invalidOptions, notFound, uploadConflict } from '#kernel/errors/catalogue.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import type { Log } from '#kernel/log/log.ts';
import { baseName } from '#server/http/content-disposition.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { UploadGrant } from '../access/upload-access.ts';
import type { HeldFiles, UsedFiles } from '../access/used-files.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles, MayTake } from '../catalogue/cloud-files.ts';
import type { FolderOf } from '../catalogue/folder-index.ts';
import { assertFree } from '../catalogue/one-file-per-path.ts';
import { assertPreconditions, type Validators, validatorsOf } from '../download/conditional.ts';
import type { DirectDownloads } from '../download/direct-downloads.ts';
import { pathProblem } from '../files/folder-path.ts';
import type { SentProperties } from '../files/sent-properties.ts';
import { isKnownFolder, isOf } from './known-folder.ts';
import { mayLeaveFolder } from './may-leave-folder.ts';
import type { ReplacedFiles } from './replaced-files.ts';

interface FolderPlacesDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findInFolder' | 'ownerOfFolder' | 'list' | 'remove'>;
  readonly used: Pick<UsedFiles, 'hold'>;
  readonly replaced: Pick<ReplacedFiles, 'add'>;
  readonly quota: Pick<Quota, 'freed'>;
  /** null: no download leads to the bucket. */
  readonly redirects: Pick<DirectDownloads, 'covers' | 'validators'> | null;
  readonly log: Pick<Log, 'warn'>;
}

/** The owner of a new file, and its own name. */
interface NewFile extends Pick<CloudFile, 'ownerId' | 'projectSlug'> {
  readonly fileName: string;
  /** Rules bind its sender. */
  readonly bound: BoundSender | undefined;
}

/** Time limit of what is done to a replaced file. Milliseconds. */
const removalTimeout = 30_000;

export const noSuchFolder = () => notFound('There is no such folder');

/** The places of new files in folders. A folder is nothing but what its files say. */
export class FolderPlaces {
  readonly #deps: FolderPlacesDeps;
  readonly #newFolder = createUuidV7();

  constructor(deps: FolderPlacesDeps) {
    this.#deps = deps;
  }

  /**
   * What a client says of a new file, with the id of its folder and its path. Throws 400 for a name that can be no path,
   * 404 for a folder that the project does not have, 409 if the path is taken.
   */
  async place(sent: SentProperties, file: NewFile, signal: AbortSignal): Promise<SentProperties> {
    if (sent.folder === undefined) return sent;
    const placed = await this.inFolder(sent, file, signal);
    await this.assertTakes(placed, signal, assertFree);
    return placed;
  }

  /** The same, but for what is at the path. @param isCopy of another server: its folder may be new here */
  async inFolder(
    sent: SentProperties,
    { ownerId, projectSlug, fileName, bound }: NewFile,
    signal: AbortSignal,
    isCopy = false,
  ): Promise<SentProperties> {
    const { folder, path = baseName(fileName) } = sent;
    if (folder === undefined) return sent;
    const problem = pathProblem(path);
    if (problem !== null) throw invalidOptions([`path ${problem}`]);
    if (folder === 'new') return { ...sent, path, folder: this.#newFolder() };
    const { cloudFiles } = this.#deps;
    const place = { folder, ownerId, projectSlug };
    if (isCopy) await this.#assertMayCopyInto(place, signal);
    else if (!(await isKnownFolder(cloudFiles, place, bound, signal))) throw noSuchFolder();
    return { ...sent, path, folder };
  }

  /** Throws 409 for a folder of others: addresses of files in folders don't say whose they are. */
  async #assertMayCopyInto(place: FolderOf, signal: AbortSignal): Promise<void> {
    const owner = await this.#deps.cloudFiles.ownerOfFolder(place.folder, signal);
    if (owner !== null && !isOf(owner, place)) throw uploadConflict('The folder is taken');
  }

  /** Asks before bytes are read; the insert of the row asks again. */
  async assertTakes({ folder, path }: SentProperties, signal: AbortSignal, mayTake: MayTake): Promise<void> {
    if (folder !== undefined && path !== undefined)
      await mayTake(await this.#deps.cloudFiles.findInFolder({ folder, path }, signal));
  }

  /** For a PUT, which may replace a file. */
  replacement(request: HttpRequest, grant: UploadGrant): Replacement {
    return new Replacement(this.#deps, request, grant);
  }
}

/** The file that a PUT replaces, if there is one and the conditions of the request allow it. */
export class Replacement {
  readonly #deps: FolderPlacesDeps;
  readonly #request: HttpRequest;
  readonly #grant: UploadGrant;
  #old: CloudFile | null = null;
  #held: HeldFiles | null = null;

  constructor(deps: FolderPlacesDeps, request: HttpRequest, grant: UploadGrant) {
    this.#deps = deps;
    this.#request = request;
    this.#grant = grant;
  }

  /** Throws 412 if a condition fails, 409 without If-Match, 403 without the right to delete. */
  readonly assertMayTake: MayTake = async (there) => {
    const header = (name: string) => this.#request.header(name);
    const { link, bound, grants } = this.#grant;
    // a link only takes new files; rules may hide what is there
    const isOpen = there !== null && link === undefined && touchable(bound, 'read', 'delete')(there);
    assertPreconditions(header, isOpen ? await this.#validatorsOf(there) : null);
    if (there === null) return;
    if (header('if-match') === undefined) throw fileExists();
    const { project } = this.#request.params;
    assertGranted(grants, { grant: 'files:delete', touches: 'beside spaces' }, { project });
  };

  /** As its readers get them: those of the bucket if that answers them. */
  async #validatorsOf(file: CloudFile): Promise<Validators> {
    const { redirects } = this.#deps;
    const isOurs = redirects === null || !redirects.covers(file) || !mayLeaveFolder(file);
    const there = isOurs ? null : await redirects.validators(file, this.#request.signal);
    return there ?? validatorsOf(file);
  }

  /** The same, and holds the file until it is replaced. Throws 409 if a record names it. */
  readonly take: MayTake = async (there) => {
    await this.assertMayTake(there);
    if (there === null) return;
    const { ownerId, projectSlug: slug, name } = there;
    this.#held = await this.#deps.used.hold({ ownerId, slug }, [name], AbortSignal.timeout(removalTimeout));
    if (this.#held.inUse.has(name)) throw fileInUse();
    this.#old = there;
  };

  /** Removes the replaced file. A failure leaves it to the janitor: the path has the new one already. */
  async finish(): Promise<void> {
    const old = this.#old;
    if (old === null) return;
    const { cloudFiles, replaced, quota, log } = this.#deps;
    try {
      await cloudFiles.remove(old.name, AbortSignal.timeout(removalTimeout));
      replaced.add(old);
      this.#held?.deleted([old.name]);
    } catch (err) {
      log.warn({ err, name: old.name }, 'a replaced file is left to the janitor');
    }
    quota.freed(old.ownerId);
  }

  /** The new file was not stored: the old one stays. */
  async release(): Promise<void> {
    if (this.#old !== null) await this.#held?.release([this.#old.name]).catch(() => {});
  }
}
