import { categoriesOf, contributionOf, MAX_CAMERA_CATEGORIES, type Facets } from '../model/camera-event.ts';
import { applyFacets } from '../model/newest-wins.ts';
import { EMPTY_TALLY, minus } from '../model/tally.ts';
import { MAX_CAMERAS_PER_SHARD } from '../rows/bitset.ts';
import { eventWrite, type EventRow } from '../rows/event-row.ts';
import { cameraKey, TOTAL_KEY } from '../rows/keys.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/properties.ts';
import type { TotalRow } from '../rows/total-row.ts';
import type { KeyedMessage, Outcome } from './batch.ts';
import { differencesOf, type Change } from './counter-differences.ts';
import { planCounters, type RowsPlan } from './counter-plan.ts';
import { counterRow, ofKind, type ShardRow, type ShardSnapshot } from './shard-snapshot.ts';

/** One transaction: the outcome of each message, the writes (none where nothing changes), and the rows once they are applied. */
export interface CommitPlan extends RowsPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
}

/**
 * What to write for messages about events of one shard and day: their event rows, and the differences that they make to the
 * counters of a stripe, in one transaction. Pure.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @param knownCategories the categories that always find room
 * @throws {StaleSnapshot} where the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planCommit = (
  snapshot: ShardSnapshot,
  messages: readonly KeyedMessage[],
  knownCategories: ReadonlySet<string> = new Set(),
): CommitPlan => {
  const draft = new Draft(snapshot, knownCategories);
  for (const message of messages) draft.take(message);
  const { outcomes, events, changes } = draft;
  if (events.size === 0) return { outcomes, writes: [], rows: new Map() };
  const counters = planCounters(snapshot, differencesOf(changes));
  return {
    outcomes,
    writes: [
      ...counters.writes,
      ...Array.from(events, ([key, event]) => eventWrite(key, ofKind(snapshot.rows.get(key), 'event')?.etag, event)),
    ],
    rows: new Map([
      ...counters.rows,
      ...Array.from(events, ([key, value]): [string, ShardRow] => [key, { kind: 'event', value }]),
    ]),
  };
};

/** Applies messages to their events, and works out the differences that this makes to the counters. */
class Draft {
  /** Of each message taken, in order. */
  readonly outcomes: Outcome[] = [];
  /** The events that changed, by row key. */
  readonly events = new Map<string, EventRow>();
  readonly changes: Change[] = [];
  readonly #snapshot: ShardSnapshot;
  readonly #knownCategories: ReadonlySet<string>;
  readonly #total: TotalRow | undefined;
  readonly #categories: Set<string>;
  /** The categories of each camera whose events changed. */
  readonly #cameraCategories = new Map<string, Set<string>>();
  #newCameras = 0;

  /** @param knownCategories the categories that always find room */
  constructor(snapshot: ShardSnapshot, knownCategories: ReadonlySet<string>) {
    this.#snapshot = snapshot;
    this.#knownCategories = knownCategories;
    this.#total = counterRow(snapshot, TOTAL_KEY, 'total')?.value;
    this.#categories = new Set(this.#total?.tally.categories.keys());
  }

  /** Applies one more message. */
  take(keyed: KeyedMessage): void {
    this.outcomes.push(this.#outcomeOf(keyed));
  }

  #outcomeOf(keyed: KeyedMessage): Outcome {
    const { message, eventKey } = keyed;
    const before = this.events.get(eventKey) ?? ofKind(this.#snapshot.rows.get(eventKey), 'event')?.value;
    if (before !== undefined && before.ts !== message.ts) {
      return { refused: 'data.ts_utc is not the one that this event of this camera was first reported with' };
    }
    const facets = applyFacets(before?.facets ?? {}, message.facets);
    if (before !== undefined && facets === before.facets) return 'unchanged';
    const refused = this.#reserve(message.cameraId, facets);
    if (refused !== undefined) return { refused };

    this.events.set(eventKey, { ts: message.ts, facets });
    const counted = before === undefined ? EMPTY_TALLY : contributionOf(before.facets);
    this.changes.push({ keyed, difference: minus(contributionOf(facets), counted) });
    return 'recorded';
  }

  /** Reserves room for the camera and its categories. Where there is none, reserves nothing and returns the reason. */
  #reserve(cameraId: string, facets: Facets): string | undefined {
    const ofCamera = this.#cameraCategories.get(cameraId) ?? this.#storedCategories(cameraId);
    const categories = [...categoriesOf(facets)];
    const newOfCamera = categories.filter((category) => !ofCamera.has(category));
    if (this.#hasUnknown(newOfCamera) && ofCamera.size + newOfCamera.length > MAX_CAMERA_CATEGORIES) {
      return `the camera would have more than ${MAX_CAMERA_CATEGORIES} categories in one day`;
    }
    const newOfShard = categories.filter((category) => !this.#categories.has(category));
    if (this.#hasUnknown(newOfShard) && this.#withKnown(newOfShard) > MAX_TALLY_CATEGORIES) {
      return `the cameras together would have more than ${MAX_TALLY_CATEGORIES} categories in one shard of the day`;
    }
    const list = this.#total?.cameras;
    const isNew = list?.indexes.has(cameraId) !== true && !this.#cameraCategories.has(cameraId);
    if (isNew && (list?.ids.length ?? 0) + this.#newCameras >= MAX_CAMERAS_PER_SHARD) {
      return `more than ${MAX_CAMERAS_PER_SHARD} cameras would be active in one shard of the day`;
    }
    if (isNew) this.#newCameras += 1;
    for (const category of newOfCamera) ofCamera.add(category);
    for (const category of newOfShard) this.#categories.add(category);
    this.#cameraCategories.set(cameraId, ofCamera);
    return undefined;
  }

  #storedCategories(cameraId: string): Set<string> {
    const own = counterRow(this.#snapshot, cameraKey(cameraId), 'camera')?.value.tally.categories.keys() ?? [];
    return new Set([...own, ...(this.#snapshot.elsewhere.get(cameraId) ?? [])]);
  }

  /** Whether one of some categories is none of the known ones, which are never refused. */
  #hasUnknown(categories: readonly string[]): boolean {
    return categories.some((category) => !this.#knownCategories.has(category));
  }

  /** How many categories the shard would have with some more and all known ones: their room in the row is reserved. */
  #withKnown(added: readonly string[]): number {
    return new Set([...this.#categories, ...added, ...this.#knownCategories]).size;
  }
}
