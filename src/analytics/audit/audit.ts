import pLimit from 'p-limit';

import type { Log } from '../../log.ts';
import { isDamage, LaterFormat } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, endOfDay, MICROSECONDS, minuteOfDay, offsetIn, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom, now } from '../model/instant.ts';
import type { Period } from '../model/period.ts';
import { type Step, stepsOf } from '../model/steps.ts';
import { NO_COUNT, sumOf, type Tally } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import { readDayRow, type StoredDay } from '../rows/day-row.ts';
import { Days } from '../rows/days.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { shardPartitionsIn } from '../rows/generations.ts';
import { type Counted, countedEvents, countedSamples } from './counted-events.ts';

/** What the service answers: the same questions go to its reader and to the events. */
type Answers = Pick<Reader, 'activity' | 'series' | 'cameras' | 'lastMinutes' | 'accuracy'>;
/** An answer as its numbers that are not 0, by name. */
type Facts = ReadonlyMap<string, number>;
/** A question answers one or more counters, by name. */
type Question = (answers: Answers) => Promise<ReadonlyMap<string, Facts>>;

/** An answer that is not what the events say. */
export interface Difference {
  readonly counter: string;
  readonly facts: readonly { readonly fact: string; readonly answered: number; readonly counted: number }[];
  /** Why the service cannot answer; undefined: it answers. */
  readonly damage: string | undefined;
}

/** What an audit of a day found. */
export interface AuditReport {
  readonly day: Day;
  /** undefined: the day has no events, or its row is lost. */
  readonly row: StoredDay | undefined;
  /** Whether the day takes no more changes: its samples were compared in place of its event rows. */
  readonly closed: boolean;
  readonly events: number;
  /** How many answers were compared. */
  readonly answers: number;
  readonly differences: readonly Difference[];
  /** Event rows, or samples of a closed day, that cannot be decoded. */
  readonly unreadable: readonly UnreadableRow[];
  /** Answers whose events changed during every pass, without a result. */
  readonly unsettled: readonly string[];
}

const PASSES = 6;
const PARALLEL_QUESTIONS = 6;
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const NO_FACTS: Facts = new Map();
/** A category that no event can have. It counts versions of event rows: equal sums mean the same events. */
const VERSIONS = ' versions';

/**
 * Compares what the service answers about a day with what its event rows say. An answer that differs in two passes in a row, with the same
 * events in both, is a difference. Reads only; the day may receive writes at the same time.
 *
 * @throws {StorageTrouble | TableMissing | LaterFormat} there is no report of a part of a day
 * @example const { differences } = await auditDay(table, day); // [] if every answer is right
 */
export const auditDay = async (table: Table, day: Day): Promise<AuditReport> => {
  let pass = await auditOnce(table, day);
  const differences = new Map<string, Difference>();
  for (let passes = 2; passes <= PASSES && pass.differing.size > 0; passes += 1) {
    const next = await auditOnce(table, day);
    for (const [counter, { versions }] of pass.differing) {
      const again = next.differing.get(counter);
      if (again?.versions === versions) differences.set(counter, again.difference);
    }
    for (const counter of differences.keys()) next.differing.delete(counter);
    pass = next;
  }
  const { differing, ...report } = pass;
  return { ...report, day, differences: [...differences.values()], unsettled: [...differing.keys()] };
};

interface Pass extends Omit<AuditReport, 'day' | 'differences' | 'unsettled'> {
  readonly differing: Map<string, { readonly difference: Difference; readonly versions: number }>;
}

const auditOnce = async (table: Table, day: Day): Promise<Pass> => {
  const differing: Pass['differing'] = new Map();
  const shards = await shardPartitionsIn(table, day);
  const { value: row, damage: lost } = await orDamage(readDayRow(table, day), isDamage);
  if (row === undefined) {
    const damage = lost ?? (shards.length > 0 ? 'it is missing, and the day has rows' : undefined);
    const counter = 'row of the day';
    if (damage !== undefined) differing.set(counter, { difference: { counter, facts: [], damage }, versions: 0 });
    return { row, closed: false, events: 0, answers: 0, unreadable: [], differing };
  }
  const closed = row.closes !== undefined && row.closes <= now();
  const ofShards: Awaited<ReturnType<typeof countedEvents>>[] = [];
  for (const { partition, generation } of shards) {
    if (generation !== row.generation) continue;
    ofShards.push(await (closed ? countedSamples : countedEvents)(table, partition, day));
  }
  const counted = ofShards.flatMap((own) => own.counted);
  const unreadable = ofShards.flatMap((own) => own.unreadable);
  const [reader, fromEvents] = [new Reader(table, new Days(table, 1, SILENT)), answersOf(day, counted)];
  // For an answer that does not follow from events, or does not say from which.
  const versionsOfDay = counted.reduce((sum, { version }) => sum + hashOf(version), 0);
  let answers = 0;
  const compare = async (question: Question): Promise<void> => {
    const expected = await question(fromEvents);
    const { value: answered = new Map<string, Facts>(), damage } = await orDamage(question(reader), isCounterDamage);
    for (const counter of new Set([...expected.keys(), ...answered.keys()])) {
      answers += 1;
      const [own, other] = [expected.get(counter) ?? NO_FACTS, answered.get(counter) ?? NO_FACTS];
      const facts = [...new Set([...own.keys(), ...other.keys()])]
        .map((fact) => ({ fact, answered: other.get(fact) ?? 0, counted: own.get(fact) ?? 0 }))
        .filter((each) => each.answered !== each.counted && each.fact !== VERSIONS);
      if (damage === undefined && facts.length === 0) continue;
      const difference = { counter, facts: damage === undefined ? facts : [], damage };
      differing.set(counter, { difference, versions: own.get(VERSIONS) ?? versionsOfDay });
    }
  };
  await pLimit(PARALLEL_QUESTIONS).map([...questionsAbout(day, counted, closed)], compare);
  // The rows of a generation are deleted once it no longer counts: a read of them proves nothing.
  const isMoved = (await readDayRow(table, day))?.generation !== row.generation;
  if (isMoved) for (const [counter, own] of differing) differing.set(counter, { ...own, versions: NaN });
  const events = counted.reduce((sum, { tally }) => sum + tally.events, 0);
  return { row, closed, events, answers, unreadable, differing };
};

/** The event rows have a format that is known: so an unknown one is damage of a counter row. */
const isCounterDamage = (error: unknown): boolean => isDamage(error) || error instanceof LaterFormat;

/** The data that was read, or the fault of a row. */
const orDamage = async <Value>(
  reading: Promise<Value>,
  isExpected: (error: unknown) => boolean,
): Promise<{ readonly value?: Value; readonly damage?: string }> => {
  try {
    return { value: await reading };
  } catch (error) {
    if (error instanceof Error && isExpected(error)) return { damage: error.message };
    throw error;
  }
};

const factsOf = (tally: Tally, cameras: Iterable<string> | number = [], withAccuracy = false): Facts => {
  const facts: [string, number][] = [
    ['total_events', tally.events],
    ['reviewed_total_events', tally.reviewed],
    ['annotated_total_events', tally.annotated],
  ];
  if (typeof cameras === 'number') facts.push(['active_cameras', cameras]);
  else for (const id of cameras) facts.push([`active camera ${id}`, 1]);
  for (const [category, own] of tally.categories) {
    if (category === VERSIONS) facts.push([VERSIONS, own.detections]);
    else {
      facts.push([`counts_per_category.${category}`, own.detections]);
      facts.push([`reviewed_counts_per_category.${category}`, own.reviewed]);
      facts.push([`annotated_counts_per_category.${category}`, own.annotations]);
      if (withAccuracy) facts.push([`flagged.${category}`, own.flagged], [`confirmed.${category}`, own.confirmed]);
    }
  }
  return new Map(facts.filter(([, value]) => value !== 0));
};

/** A number that differs, almost surely, for two texts (FNV-1a). */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
};

const wholeOf = (day: Day): Period => ({ start: startOfDay(day), end: endOfDay(day) });

/** What the events of a day themselves answer about it. */
const answersOf = (day: Day, counted: readonly Counted[]): Answers => {
  const events = counted
    .map(({ cameraId, ts, tally, version }) => {
      const versions = { ...NO_COUNT, detections: hashOf(version) };
      return { cameraId, ts, tally: { ...tally, categories: new Map([...tally.categories, [VERSIONS, versions]]) } };
    })
    .sort((one, other) => (one.ts < other.ts ? -1 : 1));
  const ofAll = Map.groupBy(events, ({ ts }) => minuteOfDay(ts));
  const ofCameras = Map.groupBy(events, ({ cameraId, ts }) => `${minuteOfDay(ts)} ${cameraId}`);
  const cameraIds = [...new Set(events.map(({ cameraId }) => cameraId))].sort();
  const activity = ({ start, end }: Period, cameraId?: string) => {
    const found: typeof events = [];
    for (let minute = minuteOfDay(start); minute <= minuteOfDay(end); minute += 1) {
      const own = cameraId === undefined ? ofAll.get(minute) : ofCameras.get(`${minute} ${cameraId}`);
      for (const event of own ?? []) if (start <= event.ts && event.ts <= end) found.push(event);
    }
    const activeCameras = [...new Set(found.map((event) => event.cameraId))].sort();
    return { tally: sumOf(found.map(({ tally }) => tally)), activeCameras };
  };
  return {
    activity: async (period, cameraId) => activity(period, cameraId),
    series: async (period, step, cameraId) =>
      stepsOf(period, step).map((own) => {
        const { tally, activeCameras } = activity(own, cameraId);
        return { period: own, tally, activeCameras: activeCameras.length };
      }),
    cameras: async () => cameraIds.map((cameraId) => ({ cameraId, tally: activity(wholeOf(day), cameraId).tally })),
    lastMinutes: async () =>
      new Map(events.map(({ cameraId, ts }) => [cameraId, instantFrom(ts - offsetIn(ts, MICROSECONDS.minute))])),
    accuracy: async () => ({ ...activity(wholeOf(day)), without: [] }),
  };
};

const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);

const range =
  (period: Period, cameraId?: string): Question =>
  async (answers) => {
    const { tally, activeCameras } = await answers.activity(period, cameraId);
    const counter = `${cameraId ?? 'all cameras'}, ${clockOf(period.start)} to ${clockOf(period.end)}`;
    return new Map([[counter, factsOf(tally, activeCameras)]]);
  };

/** All questions of an audit. */
function* questionsAbout(day: Day, counted: readonly Counted[], closed: boolean): Generator<Question> {
  const whole = wholeOf(day);
  const series =
    (step: Step, cameraId?: string): Question =>
    async (answers) => {
      const counters = (await answers.series(whole, step, cameraId)).map(({ period, tally, activeCameras }) => {
        const counter = `${cameraId ?? 'all cameras'}, ${step} ${clockOf(period.start)}`;
        return [counter, factsOf(tally, activeCameras)] as const;
      });
      return new Map(counters.filter(([, facts]) => facts.size > 0));
    };
  yield range(whole);
  for (const hour of stepsOf(whole, 'hour')) yield range(hour);
  // Each minute is cut somewhere. The ranges from cut to cut begin and end within minutes, and together read every sample once.
  let { start } = whole;
  for (const minute of [...new Set(counted.map(({ ts }) => minuteOfDay(ts)))].sort((one, other) => one - other)) {
    const cut = whole.start + BigInt(minute) * MICROSECONDS.minute + BigInt((minute * 7_919_333) % 59_000_000);
    yield range({ start, end: instantFrom(cut) });
    start = instantFrom(cut + 1n);
  }
  yield range({ start, end: whole.end });
  yield series('minute');
  for (const [id, own] of Map.groupBy(counted, ({ cameraId }) => cameraId)) {
    yield* [range(whole, id), series('hour', id), series('minute', id)];
    // From its first event to its last: both are in minutes that the period covers only in part.
    const instants = own.map(({ ts }) => ts).sort((first, second) => (first < second ? -1 : 1));
    yield range({ start: instants[0] ?? whole.start, end: instants.at(-1) ?? whole.end }, id);
  }
  yield async (answers) => {
    const cameras = await answers.cameras(day, 1);
    // The samples of a closed day tell nothing about accuracy.
    return new Map(cameras.map(({ cameraId, tally }) => [`list of cameras: ${cameraId}`, factsOf(tally, [], !closed)]));
  };
  yield async (answers) => {
    const minutes = await answers.lastMinutes(day, 1);
    return new Map(Array.from(minutes, ([id, at]) => [`last_event_at of ${id}`, new Map([[clockOf(at), 1]])]));
  };
  if (!closed) {
    yield async (answers) => new Map([['accuracy', factsOf((await answers.accuracy(day, 1)).tally, [], true)]]);
  }
}
