import { applyFacets, categoriesOf, contributionOf, type EventMessage, type Facets } from '../model/camera-event.ts';
import { MAX_CAMERAS_PER_SHARD } from '../rows/camera-list.ts';
import { MAX_CAMERA_CATEGORIES } from '../rows/camera-row.ts';
import { eventKeyOf } from '../rows/event-row.ts';
import type { KnownEvent, ShardView } from './shard-snapshot.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/tally-text.ts';
import { EMPTY_TALLY, minus, type Tally } from '../model/tally.ts';

/** What became of a message: it counted something new, it changed nothing, or it can never be taken, and why. */
export type Outcome = 'recorded' | 'unchanged' | { readonly refused: string };

/** What a message about an event changes in every counter that the event is part of. */
export interface Change {
  readonly message: EventMessage;
  readonly difference: Tally;
}

/** Works out what messages do to the events they are about, and the differences that this makes to the counters. */
export class Draft {
  /** Of each message taken, in order. */
  readonly outcomes: Outcome[] = [];
  /** The events that changed, by row key. */
  readonly events = new Map<string, KnownEvent>();
  readonly changes: Change[] = [];
  readonly #view: ShardView;
  readonly #categories: Set<string>;
  /** Of the cameras whose events changed. */
  readonly #cameraCategories = new Map<string, Set<string>>();
  #newCameras = 0;

  constructor(view: ShardView) {
    this.#view = view;
    this.#categories = new Set(view.total?.tally.categories.keys());
  }

  /** Works out what one more message does. */
  take(message: EventMessage): void {
    this.outcomes.push(this.#outcomeOf(message));
  }

  #outcomeOf(message: EventMessage): Outcome {
    const key = eventKeyOf(message);
    const before = this.events.get(key) ?? this.#view.events.get(key)?.value;
    if (before !== undefined && before.ts !== message.ts) {
      return { refused: 'data.ts_utc is not the one that this event of this camera was first reported with' };
    }
    const facets = applyFacets(before?.facets ?? {}, message.facets);
    if (before !== undefined && facets === before.facets) return 'unchanged';
    const refused = this.#claimRoom(message.cameraId, facets);
    if (refused !== undefined) return { refused };

    this.events.set(key, { ts: message.ts, facets });
    const counted = before === undefined ? EMPTY_TALLY : contributionOf(before.facets);
    this.changes.push({ message, difference: minus(contributionOf(facets), counted) });
    return 'recorded';
  }

  /** Takes up room for categories and camera; says what there is no room for, and then takes nothing. */
  #claimRoom(cameraId: string, facets: Facets): string | undefined {
    const known = this.#view.cameras.get(cameraId)?.value.tally.categories.keys() ?? [];
    const ofCamera = this.#cameraCategories.get(cameraId) ?? new Set(known);
    const more = [...categoriesOf(facets)];
    const moreOfCamera = more.filter((category) => !ofCamera.has(category));
    if (ofCamera.size + moreOfCamera.length > MAX_CAMERA_CATEGORIES) {
      return `the camera would have more than ${MAX_CAMERA_CATEGORIES} categories in one day`;
    }
    const moreOfShard = more.filter((category) => !this.#categories.has(category));
    if (this.#categories.size + moreOfShard.length > MAX_TALLY_CATEGORIES) {
      return `the cameras together would have more than ${MAX_TALLY_CATEGORIES} categories in one shard of the day`;
    }
    const list = this.#view.total?.cameras;
    const isNew = list?.places.has(cameraId) !== true && !this.#cameraCategories.has(cameraId);
    if (isNew && (list?.ids.length ?? 0) + this.#newCameras >= MAX_CAMERAS_PER_SHARD) {
      return `more than ${MAX_CAMERAS_PER_SHARD} cameras would be active in one shard of the day`;
    }
    if (isNew) this.#newCameras += 1;
    for (const category of moreOfCamera) ofCamera.add(category);
    for (const category of moreOfShard) this.#categories.add(category);
    this.#cameraCategories.set(cameraId, ofCamera);
    return undefined;
  }
}
