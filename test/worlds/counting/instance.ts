import { setTimeout as sleep } from 'node:timers/promises';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { RewriteAbandoned, rewriteDay, RewriteRefused } from '../../../src/analytics/audit/rewrite.ts';
import { DayHeld, RecorderUnavailable } from '../../../src/analytics/errors.ts';
import type { Day } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { DamagedRow, StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Log } from '../../../src/log.ts';
import { countsIn, CountingProcess } from '../../analytics/counting.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';
import type { Life } from '../life.ts';

/** Days close when they ended this long ago. */
const RETENTION_DAYS = 1;
const CONFIGURED_CATEGORIES = ['fire', 'smoke', 'structure'];

/** The outcome of a message whose day is closed. */
export const REFUSED_AS_CLOSED = `refused: ${CLOSED_DAY.refused}`;

/** The end of a rewrite: the day is rewritten; it is closed, or about to be; it has no events; or it must be started again. */
export type Rewritten = 'done' | 'closes' | 'empty' | 'again';

/** How a process of the world is made. */
export interface InstanceParts {
  readonly life: Life;
  readonly connection: TableConnection;
  readonly shardsOfNewDays: number;
  /** How long the process is suspended before it sends a transaction, in milliseconds. */
  readonly suspendedMs?: () => number;
  /** How often it tries a read; as often as the service does by default. */
  readonly readTries?: number | undefined;
  readonly tell: (line: () => string) => void;
}

/** The table of a process that is suspended now and then: what it sends was computed long ago. */
class TableOfSuspended extends Table {
  readonly #suspendedMs: () => number;

  constructor(connection: TableConnection, { suspendedMs = () => 0, readTries }: InstanceParts) {
    super(connection, { format: FORMAT, ...(readTries !== undefined && { tries: readTries }) });
    this.#suspendedMs = suspendedMs;
  }

  override async transact(...args: Parameters<Table['transact']>): Promise<readonly string[]> {
    const ms = this.#suspendedMs();
    if (ms > 0) await sleep(ms);
    return super.transact(...args);
  }
}

/** One step of a series. */
export interface StepAnswer {
  readonly question: Question;
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: number;
}

/** A process of the service. Its methods run in its {@link life}. */
export class Instance extends CountingProcess {
  readonly life: Life;
  readonly #log: Log;
  readonly #tell: (line: () => string) => void;

  constructor(parts: InstanceParts) {
    const { life, connection, shardsOfNewDays, tell } = parts;
    const at =
      (level: string): Log['info'] =>
      (event, fields = {}) =>
        tell(() => `${level} ${event} ${JSON.stringify(fields)}`);
    const log = { info: at('info'), warn: at('warn'), error: at('error') };
    const options = { log, configuredCategories: CONFIGURED_CATEGORIES };
    super(new TableOfSuspended(connection, parts), shardsOfNewDays, options);
    this.life = life;
    this.#log = log;
    this.#tell = tell;
  }

  /** As `POST /api/events`: the outcome of each message, in words. */
  async outcomes(messages: readonly PlainMessage[]): Promise<readonly string[]> {
    const outcomes = await this.record(messages);
    return outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : `refused: ${outcome.refused}`));
  }

  /** As `GET /api/analytics/series`. */
  async series({ start, end, cameraId }: Question, step: Step): Promise<readonly StepAnswer[]> {
    const steps = await this.reader.series({ start: instantFrom(start), end: instantFrom(end) }, step, cameraId);
    return steps.map(({ period, tally, activeCameras }) => ({
      question: { start: period.start, end: period.end, cameraId },
      counts: countsIn(tally),
      cameras: activeCameras,
    }));
  }

  /** As `GET /api/analytics/cameras`: what each camera counts on a day. */
  async cameras(day: Day): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const activities = await this.reader.cameras(day, 1);
    return new Map(activities.map(({ cameraId, tally }) => [cameraId, countsIn(tally)]));
  }

  /** As the timer. */
  async closeDays(): Promise<void> {
    await closeDays({ table: this.table, days: this.days, retentionDays: RETENTION_DAYS }, this.#log);
  }

  /** As `npm run audit`. @returns what differs, a line each */
  async audit(day: Day): Promise<readonly string[]> {
    const { differences, unreadable } = await auditDay(this.table, day);
    return [
      ...differences.map((difference) => JSON.stringify(difference)),
      ...unreadable.map(({ row, damage }) => `${row.rowKey}: ${damage}`),
    ];
  }

  /** As `npm run audit -- --rewrite`. */
  async rewrite(day: Day, shards: number | undefined): Promise<Rewritten> {
    try {
      await rewriteDay(this.table, day, { shards, say: (line) => this.#tell(() => line) });
      return 'done';
    } catch (error) {
      if (!(error instanceof RewriteRefused || error instanceof RewriteAbandoned)) throw error;
      this.#tell(() => error.message);
      if (error.message.includes('clos')) return 'closes';
      return error.message.includes('no events') ? 'empty' : 'again';
    }
  }
}

/** Whether a request may fail with an error because of what storage does; the service answers 503. */
export const isUnavailable = (error: unknown): boolean =>
  [RecorderUnavailable, DayHeld, StorageTrouble, WriteConflict].some((kind) => error instanceof kind);

/** Whether an error says that a row is damaged. */
export const isDamage = (error: unknown): boolean => error instanceof DamagedRow;
