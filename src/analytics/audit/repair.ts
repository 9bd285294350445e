import { setTimeout } from 'node:timers/promises';

import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION, type StoredRow, writeOf } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import { isConflict } from '../errors.ts';
import { hourOfMinute, type Day } from '../model/day.ts';
import { EMPTY_TALLY } from '../model/tally.ts';
import { areTooLarge } from '../record/batch.ts';
import { completed, type CounterDifferences } from '../record/counter-differences.ts';
import { KnownRows } from '../record/known-rows.ts';
import { Recorder } from '../record/recorder.ts';
import { ShardRows } from '../record/shard-rows.ts';
import { TransactionWriter, type Prepared } from '../record/transaction.ts';
import { DayClosed, DayShards } from '../rows/day-shards.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import {
  ALL_EVENTS,
  dayPartition,
  FENCE_KEY,
  OPEN_DAYS_PARTITION,
  parseEventKey,
  REPAIR_KEY,
  SHARDS_KEY,
  shardPartition,
  TOTAL_KEY,
} from '../rows/keys.ts';
import { announcement } from '../rows/stripes.ts';
import { auditDay, readDayState, type AuditReport } from './audit.ts';
import { decodedOr, type DamagedRows, type Remedy } from './findings.ts';
import { copyAside, SettingAside } from './set-aside.ts';
import type { ShardReport } from './shard-audit.ts';

/** The day is closed: its event rows are deleted, and counters that are counted from them would become zero. */
export class NotRepairable extends Error {
  override readonly name = 'NotRepairable';
}

/** Others changed the same rows during every try, or differences came back after they were put right. */
export class RepairUnfinished extends Error {
  override readonly name = 'RepairUnfinished';
}

/** What a repair works with. */
export interface RepairOptions {
  /** Called with a sentence after each step. */
  readonly say: (line: string) => void;
}

const ROUNDS = 12;
const TRIES = 20;
/** Pieces of a difference in one transaction: half as many if they are too large for it. */
const PIECES_A_TRANSACTION = 40;
const EVENTS_AT_ONCE = 1_000;
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** What a repair will do, in sentences: each once. */
export const stepsOf = ({ differences }: AuditReport): ReadonlySet<string> =>
  new Set(
    differences.flatMap(({ shard, counter, remedy }) =>
      stepTexts(counter, remedy).map((text) =>
        shard === undefined ? text : `shard ${String(shard).padStart(2, '0')}: ${text}`,
      ),
    ),
  );

const stepTexts = (counter: string, remedy: Remedy | undefined): readonly string[] => {
  switch (remedy?.kind) {
    case undefined:
      return [`add to ${counter} what the event rows have more or less`];
    case 'set aside':
      return remedy.rows.map(rowsText);
    case 'stripes':
      return [`write that the shard has ${remedy.stripes} stripes`];
    case 'shards':
      return [`write that the day has ${remedy.shards} shards`];
    case 'move':
      return [`record the events of camera ${remedy.cameraId} in its own shard, and set them aside in this one`];
  }
};

const rowsText = (rows: DamagedRows): string => {
  if (rows.of === 'stripe') return `set aside all rows of stripe ${rows.stripe}, and count anew what they held`;
  return rows.rowKey.startsWith('event|')
    ? `set aside row ${rows.rowKey}: what it contributed leaves the counters`
    : `set aside row ${rows.rowKey}, and count anew what it held`;
};

/**
 * Puts right what an audit found, while the day may be written to: what is left of the subtraction is committed by the recorder's own
 * writer, in a stripe of its own. Rows that cannot be decoded are set aside first, and what they held is then part of the difference.
 * Stopped anywhere, it goes on when it is started again.
 *
 * @param audited what {@link auditDay} found
 * @returns the last audit: without differences
 * @throws {RepairUnfinished | NotRepairable | AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const repairDay = async (table: Table, audited: AuditReport, { say }: RepairOptions): Promise<AuditReport> => {
  let report = audited;
  for (let round = 1; report.differences.length > 0; round += 1) {
    if (round > ROUNDS) throw new RepairUnfinished('differences are left: run the repair again');
    if (report.closed || (await readDayState(table, report.day)).closed) {
      throw new NotRepairable('a closed day has no event rows to count from: it cannot be repaired');
    }
    // A manifest that has lost its closing says that the day is open: the counters would be taken down to the event rows that are left.
    if ((await table.get(OPEN_DAYS_PARTITION, report.day)) === undefined) {
      throw new NotRepairable(`the day is not among the rows of ${OPEN_DAYS_PARTITION}: its event rows may be deleted`);
    }
    try {
      await new RepairRound(table, report, say).run();
    } catch (error) {
      if (error instanceof DayClosed) throw new NotRepairable('the day was closed meanwhile', { cause: error });
      // It may have been applied or not: the next audit tells.
      if (!(error instanceof WriteConflict || error instanceof StorageTrouble)) throw error;
      say('storage or another writer came between: reading again');
    }
    report = await auditDay(table, report.day);
  }
  return report;
};

class RepairRound {
  readonly #table: Table;
  readonly #report: AuditReport;
  readonly #say: (line: string) => void;

  constructor(table: Table, report: AuditReport, say: (line: string) => void) {
    this.#table = table;
    this.#report = report;
    this.#say = say;
  }

  /**
   * The remedies of the first kind that is needed. The others follow in later rounds, after another audit: how much a counter
   * lacks is known only once every row can be decoded and every event is in its shard.
   */
  async run(): Promise<void> {
    const remedies = this.#report.differences.flatMap(({ shard, remedy }) => (remedy ? [{ shard, remedy }] : []));
    if (await this.#each(remedies, 'shards', async ({ shards }) => this.#writeShards(shards))) return;
    const stripes = await this.#each(remedies, 'stripes', async (own, shard) => this.#writeStripes(shard, own.stripes));
    const aside = await this.#each(remedies, 'set aside', async ({ rows }, shard) => this.#setAside(shard, rows));
    if (stripes || aside) return;
    if (await this.#each(remedies, 'move', async ({ cameraId }, shard) => this.#move(shard, cameraId))) return;
    for (const own of this.#report.byShard) if (own.differences.length > 0) await this.#add(own);
  }

  /** Does all remedies of a kind, each once; returns whether there are any. */
  async #each<Kind extends Remedy['kind']>(
    remedies: readonly { readonly shard: number | undefined; readonly remedy: Remedy }[],
    kind: Kind,
    mend: (remedy: Extract<Remedy, { kind: Kind }>, shard: number) => Promise<void>,
  ): Promise<boolean> {
    const isOfKind = (remedy: Remedy): remedy is Extract<Remedy, { kind: Kind }> => remedy.kind === kind;
    const done = new Set<string>();
    for (const { shard = 0, remedy } of remedies) {
      const name = JSON.stringify([shard, remedy]);
      if (!isOfKind(remedy) || done.has(name)) continue;
      await mend(remedy, shard);
      done.add(name);
    }
    return done.size > 0;
  }

  async #writeShards(shards: number): Promise<void> {
    const partition = dayPartition(this.#report.day);
    const row = await this.#table.get(partition, SHARDS_KEY, { exact: true });
    const write = writeOf(SHARDS_KEY, row?.etag, { shards }, 'replace');
    await this.#table.transact(partition, [write, ...(row === undefined ? [] : [copyAside(row)])]);
    this.#say(`the day has ${shards} shards`);
  }

  async #writeStripes(shard: number, stripes: number): Promise<void> {
    const partition = this.#partition(shard);
    const [fence, total] = await Promise.all([
      this.#table.get(partition, FENCE_KEY),
      this.#table.get(partition, TOTAL_KEY),
    ]);
    await this.#table.transact(partition, [
      writeOf(FENCE_KEY, fence?.etag, { stripes }, 'replace'),
      ...(total === undefined ? [] : [writeOf(TOTAL_KEY, ANY_VERSION, announcement(stripes))]),
    ]);
    this.#say(`shard ${shard} has ${stripes} stripes`);
  }

  async #setAside(shard: number, rows: readonly DamagedRows[]): Promise<void> {
    const settingAside = new SettingAside(this.#table, this.#partition(shard), (moved) => {
      for (const row of moved) this.#say(`set aside row ${row.rowKey} of shard ${shard}${contentOf(row)}`);
    });
    for (const own of rows) await settingAside.rows(own);
  }

  /** Records events in the shard that the manifest gives their camera; one that is there already keeps the newest facets of both. */
  async #move(shard: number, cameraId: string): Promise<void> {
    const recorder = new Recorder(this.#table, new DayShards(this.#table, 1), SILENT);
    const moved: string[] = [];
    for await (const page of this.#table.pages(this.#partition(shard), ALL_EVENTS, { most: EVENTS_AT_ONCE })) {
      const events = page.flatMap((row) => {
        const event = decodedOr(
          () => ({ ...parseEventKey(row.rowKey), ...eventRowFrom(row) }),
          () => undefined,
        );
        return event?.cameraId === cameraId ? [{ rowKey: row.rowKey, message: event }] : [];
      });
      const outcomes = await recorder.record(events.map(({ message }) => message));
      moved.push(...events.flatMap(({ rowKey }, index) => (typeof outcomes[index] === 'string' ? [rowKey] : [])));
    }
    this.#say(`recorded ${moved.length} events of camera ${cameraId} in its own shard`);
    await this.#setAside(
      shard,
      moved.map((rowKey) => ({ of: 'row', rowKey })),
    );
  }

  /** Adds what is left of a shard. */
  async #add({ shard, left, guard, differences }: ShardReport): Promise<void> {
    const { day, shards: count } = this.#report;
    const adding = new Adding(this.#table, day, count, shard, guard);
    const pieces = piecesOf(left);
    for (let first = 0; first < pieces.length; first += PIECES_A_TRANSACTION) {
      await adding.add(pieces.slice(first, first + PIECES_A_TRANSACTION));
    }
    this.#say(`put ${differences.length} ${differences.length === 1 ? 'counter' : 'counters'} of shard ${shard} right`);
  }

  #partition(shard: number): string {
    return shardPartition(this.#report.day, shard);
  }
}

/** Adds pieces of a difference to the counters of a shard, with the recorder's writer. */
class Adding {
  readonly #rows: ShardRows;
  readonly #writer: TransactionWriter;
  #guard: string | undefined;
  #hasStripe = false;

  /**
   * @param guard the version of the shard's `repair` row before the audit. Each transaction changes the row: what was added since, by
   *   another repair or by a transaction whose answer was lost, is not added twice
   */
  constructor(table: Table, day: Day, count: number, shard: number, guard: string | undefined) {
    const partition = shardPartition(day, shard);
    const knownCategories: ReadonlySet<string> = new Set();
    this.#rows = new ShardRows(
      table,
      partition,
      new KnownRows().ofShard(partition),
      { stripe: 0 },
      { knownCategories },
    );
    const known = { day, count, shards: new DayShards(table, 1) };
    this.#writer = new TransactionWriter(table, partition, this.#rows, known, knownCategories);
    this.#guard = guard;
  }

  /**
   * Adds pieces together, or one half after the other if they are too large for a transaction.
   *
   * @throws {WriteConflict} if another repair came between, or other writers always came first
   * @throws {StaleSnapshot | StorageTrouble | DamagedRow | DayClosed} after trouble they may have been added or not: audit again
   */
  async add(pieces: readonly CounterDifferences[]): Promise<void> {
    const differences = together(pieces);
    for (let tries = 1; ; tries += 1) {
      let prepared: Prepared | undefined;
      try {
        // Nothing that others may be writing is rewritten.
        if (!this.#hasStripe) await this.#rows.move();
        this.#hasStripe = true;
        const guard = writeOf(REPAIR_KEY, this.#guard, { repaired: new Date().toISOString() });
        prepared = await this.#writer.prepareDifferences(differences, guard);
        if (pieces.length > 1 && areTooLarge(prepared.plan.writes)) {
          const middle = Math.ceil(pieces.length / 2);
          await this.add(pieces.slice(0, middle));
          await this.add(pieces.slice(middle));
          return;
        }
        this.#guard = (await this.#writer.finish(await this.#writer.send(prepared))).get(REPAIR_KEY);
        return;
      } catch (error) {
        const isGuard = error instanceof WriteConflict && error.index === (prepared?.plan.writes.length ?? 0) - 1;
        const met = isGuard ? error : await this.#writer.recover([], error, prepared);
        if (isGuard || tries === TRIES || !isConflict(met)) throw met;
        await setTimeout(backoffMs(tries, 10, 200));
      }
    }
  }
}

const NOTHING: CounterDifferences = {
  day: EMPTY_TALLY,
  hours: new Map(),
  minutes: new Map(),
  samples: new Map(),
  cameras: new Map(),
  listed: [],
};

/** A difference in pieces that change about one row each, besides those at the top. */
const piecesOf = ({
  day,
  hours,
  minutes,
  samples,
  cameras,
  listed,
}: CounterDifferences): readonly CounterDifferences[] => [
  { ...NOTHING, day, hours, ...(listed && { listed }) },
  ...Array.from(Map.groupBy(minutes, ([minute]) => hourOfMinute(minute)).values(), (own) => ({
    ...NOTHING,
    minutes: new Map(own),
  })),
  ...Array.from(samples, (own) => ({ ...NOTHING, samples: new Map([own]) })),
  ...Array.from(cameras, (own) => ({ ...NOTHING, cameras: new Map([own]) })),
];

/** Pieces of one difference as one, with what the rows above need. */
const together = (pieces: readonly CounterDifferences[]): CounterDifferences =>
  completed({
    day: pieces.find(({ day }) => day !== EMPTY_TALLY)?.day ?? EMPTY_TALLY,
    hours: new Map(pieces.flatMap(({ hours }) => [...hours])),
    minutes: new Map(pieces.flatMap(({ minutes }) => [...minutes])),
    samples: new Map(pieces.flatMap(({ samples }) => [...samples])),
    cameras: new Map(pieces.flatMap(({ cameras }) => [...cameras])),
    listed: pieces.flatMap(({ listed = [] }) => listed),
  });

/** What an event row held, because nothing else tells it any more. */
const contentOf = ({ rowKey, properties }: StoredRow): string =>
  rowKey.startsWith('event|') ? `, which held ${JSON.stringify(properties)}` : '';
