import { LRUCache } from 'lru-cache';

import type { Moments } from './moment-row.ts';
import type { KnownCamera, KnownEvent, Versioned } from './shard-view.ts';

const MEBIBYTE = 1_048_576;

/** About how many bytes a camera's day takes in memory. */
const sizeOfCamera = ({ value: day }: KnownCamera): number => {
  let size = 1_000 + 150 * day.tally.categories.size;
  for (const hour of day.hours.values()) size += 300 + hour.minutes.length + 150 * hour.tally.categories.size;
  return size;
};

const sizeOfEvent = ({ value: { facets } }: Versioned<KnownEvent>): number =>
  700 + 100 * ((facets.detections?.value.size ?? 0) + (facets.annotations?.value.size ?? 0));

const sizeOfMoments = ({ value: moments }: Versioned<Moments>): number => {
  let size = 500;
  for (const bytes of moments.values()) size += 150 + bytes.length;
  return size;
};

/**
 * The camera, minute and event rows that the process committed or read last, over all shards, in bounded memory: a steady stream
 * needs no reads. Whatever is here may be stale; each write carries the row's version and finds out.
 */
export class RowCache {
  readonly #cameras = new LRUCache<string, KnownCamera>({ maxSize: 96 * MEBIBYTE, sizeCalculation: sizeOfCamera });
  readonly #events = new LRUCache<string, Versioned<KnownEvent>>({
    maxSize: 48 * MEBIBYTE,
    sizeCalculation: sizeOfEvent,
  });
  readonly #moments = new LRUCache<string, Versioned<Moments>>({
    maxSize: 32 * MEBIBYTE,
    sizeCalculation: sizeOfMoments,
  });

  camera(partition: string, cameraId: string): KnownCamera | undefined {
    return this.#cameras.get(`${partition}|${cameraId}`);
  }

  setCamera(partition: string, cameraId: string, camera: KnownCamera): void {
    this.#cameras.set(`${partition}|${cameraId}`, camera);
  }

  forgetCamera(partition: string, cameraId: string): void {
    this.#cameras.delete(`${partition}|${cameraId}`);
  }

  event(partition: string, rowKey: string): Versioned<KnownEvent> | undefined {
    return this.#events.get(`${partition}|${rowKey}`);
  }

  setEvent(partition: string, rowKey: string, event: Versioned<KnownEvent>): void {
    this.#events.set(`${partition}|${rowKey}`, event);
  }

  forgetEvent(partition: string, rowKey: string): void {
    this.#events.delete(`${partition}|${rowKey}`);
  }

  moments(partition: string, minute: number): Versioned<Moments> | undefined {
    return this.#moments.get(`${partition}|${minute}`);
  }

  setMoments(partition: string, minute: number, moments: Versioned<Moments>): void {
    this.#moments.set(`${partition}|${minute}`, moments);
  }

  forgetMoments(partition: string, minute: number): void {
    this.#moments.delete(`${partition}|${minute}`);
  }
}
