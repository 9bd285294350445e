import pLimit from 'p-limit';

import { CAMERA_DAY_PROPERTIES, cameraDayFrom, cameraProperties, minutesOf } from './camera-row.ts';
import { shardOf, type DayShards } from './day-shards.ts';
import { CONTRIBUTION_PROPERTIES, contributionFromRow } from './event-row.ts';
import { HOUR_PROPERTIES, minuteProperties, minuteTally, shardHourFrom, type ShardHour } from './hour-row.ts';
import { sortableInstant } from './instant.ts';
import { cameraKey, eventsOfMinute, hourKey, parseEventKey, shardPartition } from './keys.ts';
import { piecesOf, type DayPiece, type MinutePart, type Period } from './period.ts';
import type { CounterTable } from './table.ts';
import { bitsOf } from './tally-bytes.ts';
import { EMPTY_TALLY, sumOf, type Tally } from './tally.ts';
import { EMPTY_TOTAL, readTotal, type ShardTotal } from './total-row.ts';

/** What happened in a period. */
export interface Activity {
  readonly tally: Tally;
  /** The distinct cameras that sent events, ids ascending. */
  readonly activeCameras: readonly string[];
}

/** What one piece of a period has: disjoint from all other pieces. */
interface Part {
  readonly tally: Tally;
  readonly cameras: Iterable<string>;
}

type PartialDay = Extract<DayPiece, { whole: false }>;

const NOTHING: Part = { tally: EMPTY_TALLY, cameras: [] };
const PARALLEL_READS = 24;
const TOTAL_TRIES = 5;

const byHour = (minutes: readonly number[]): ReadonlyMap<number, readonly number[]> => {
  const hours = new Map<number, number[]>();
  for (const minute of minutes) {
    const hour = Math.floor(minute / 60);
    hours.set(hour, [...(hours.get(hour) ?? []), minute % 60]);
  }
  return hours;
};

/** A list that was read grew after that: what refers to its newer part needs it read again. */
class StaleList extends Error {}

const placed = (places: readonly number[], total: ShardTotal): readonly string[] =>
  places.map((place) => {
    const id = total.cameras.ids[place];
    if (id === undefined) throw new StaleList();
    return id;
  });

/**
 * Answers what happened in a period, by adding disjoint pieces, each event in exactly one of them: whole days from `total`
 * rows (or the camera's row), whole hours and minutes from hour rows (or the camera's row), and the parts of minutes at the
 * very ends from event rows. Each row is read whole, so no event is ever half visible.
 */
export class Reader {
  readonly #table: CounterTable;
  readonly #shards: DayShards;

  constructor(table: CounterTable, shards: DayShards) {
    this.#table = table;
    this.#shards = shards;
  }

  /**
   * What happened in a period, with all cameras or one.
   *
   * @throws {StorageTrouble} where storage does not answer
   */
  async activity(period: Period, cameraId?: string): Promise<Activity> {
    const read: Bounded = pLimit(PARALLEL_READS);
    const days = await Promise.all(piecesOf(period).map(async (piece) => this.#pieceOfDay(read, piece, cameraId)));
    const parts = days.flat();
    const active = new Set<string>();
    for (const { cameras } of parts) for (const id of cameras) active.add(id);
    return { tally: sumOf(parts.map((part) => part.tally)), activeCameras: [...active].sort() };
  }

  async #pieceOfDay(read: Bounded, piece: DayPiece, cameraId: string | undefined): Promise<readonly Part[]> {
    const shards = await read(async () => this.#shards.find(piece.day));
    if (shards === undefined) return [];
    if (cameraId !== undefined) {
      const partition = shardPartition(piece.day, shardOf(cameraId, shards));
      return this.#pieceOfCamera(read, partition, piece, cameraId);
    }
    const ofShards = Array.from({ length: shards }, async (_, shard) =>
      this.#pieceOfShard(read, shardPartition(piece.day, shard), piece),
    );
    return (await Promise.all(ofShards)).flat();
  }

  async #pieceOfShard(read: Bounded, partition: string, piece: DayPiece): Promise<readonly Part[]> {
    if (piece.whole) {
      const total = await read(async () => readTotal(this.#table, partition));
      return total === undefined ? [] : [{ tally: total.tally, cameras: total.cameras.ids }];
    }
    const [counted, ...looked] = await Promise.all([
      this.#hoursAndMinutes(read, partition, piece),
      ...piece.parts.map(async (part) => this.#events(read, partition, part)),
    ]);
    return [...counted, ...looked];
  }

  async #hoursAndMinutes(read: Bounded, partition: string, piece: PartialDay): Promise<readonly Part[]> {
    const [first, last] = [piece.hours[0], piece.hours.at(-1)];
    const minutes = byHour(piece.minutes);
    if (first === undefined && minutes.size === 0) return [];
    const [hours, ofMinutes] = await Promise.all([
      first === undefined || last === undefined
        ? []
        : read(async () => {
            const range = { from: hourKey(first), before: `${hourKey(last)}\u0000` };
            const rows = await this.#table.all(partition, range, { select: HOUR_PROPERTIES });
            return rows.map((row) => shardHourFrom(row.properties));
          }),
      Promise.all(
        [...minutes].map(async ([hour, wanted]) =>
          read(async () => {
            const row = await this.#table.get(partition, hourKey(hour), minuteProperties(wanted));
            return row === undefined ? [] : [shardHourFrom(row.properties)];
          }),
        ),
      ),
    ]);
    return this.#named(read, partition, hours, ofMinutes.flat());
  }

  /** Hours and minutes refer to cameras and categories by their places in the total's lists, which only grow. */
  async #named(
    read: Bounded,
    partition: string,
    hours: readonly ShardHour[],
    ofMinutes: readonly ShardHour[],
  ): Promise<readonly Part[]> {
    if (hours.length === 0 && ofMinutes.length === 0) return [];
    for (let tries = 1; ; tries += 1) {
      const total = (await read(async () => readTotal(this.#table, partition))) ?? EMPTY_TOTAL;
      const categories = [...total.tally.categories.keys()];
      try {
        return [
          ...hours.map((hour): Part => ({ tally: hour.tally, cameras: placed(bitsOf(hour.active), total) })),
          ...ofMinutes.flatMap((hour) =>
            [...hour.minutes.values()].map((minute): Part => {
              const tally = minuteTally(minute, categories);
              if (tally === undefined) throw new StaleList();
              return { tally, cameras: placed(bitsOf(minute.active), total) };
            }),
          ),
        ];
      } catch (error) {
        if (!(error instanceof StaleList) || tries === TOTAL_TRIES) throw error;
      }
    }
  }

  async #pieceOfCamera(read: Bounded, partition: string, piece: DayPiece, cameraId: string): Promise<readonly Part[]> {
    if (piece.whole) return [await this.#camera(read, partition, cameraId, [], new Map())];
    const minutes = byHour(piece.minutes);
    const counted = piece.hours.length > 0 || minutes.size > 0;
    return Promise.all([
      ...(counted ? [this.#camera(read, partition, cameraId, piece.hours, minutes)] : []),
      ...piece.parts.map(async (part) => this.#events(read, partition, part, cameraId)),
    ]);
  }

  /** Some hours and minutes of a camera's day; its whole day where none are named. */
  async #camera(
    read: Bounded,
    partition: string,
    cameraId: string,
    hours: readonly number[],
    minutes: ReadonlyMap<number, readonly number[]>,
  ): Promise<Part> {
    const whole = hours.length === 0 && minutes.size === 0;
    const select = whole ? CAMERA_DAY_PROPERTIES : cameraProperties(hours, minutes.keys());
    const row = await read(async () => this.#table.get(partition, cameraKey(cameraId), select));
    if (row === undefined) return NOTHING;
    const day = cameraDayFrom(row.properties);
    const tally = whole
      ? day.tally
      : sumOf([
          ...hours.map((hour) => day.hours.get(hour)?.tally ?? EMPTY_TALLY),
          ...[...minutes].flatMap(([hour, wanted]) => {
            const ofHour = minutesOf(day, hour);
            return wanted.map((minute) => ofHour.get(minute) ?? EMPTY_TALLY);
          }),
        ]);
    return { tally, cameras: tally.events > 0 ? [cameraId] : [] };
  }

  async #events(read: Bounded, partition: string, part: MinutePart, cameraId?: string): Promise<Part> {
    const range = eventsOfMinute(part.minute, cameraId);
    const filter = `ts_utc ge '${sortableInstant(part.start)}' and ts_utc le '${sortableInstant(part.end)}'`;
    const rows = await read(async () => this.#table.all(partition, range, { select: CONTRIBUTION_PROPERTIES, filter }));
    return {
      tally: sumOf(rows.map((row) => contributionFromRow(row))),
      cameras: new Set(rows.map((row) => parseEventKey(row.rowKey).cameraId)),
    };
  }
}

/** Runs reads, so many at a time. */
type Bounded = <Result>(run: () => Promise<Result>) => Promise<Result>;
