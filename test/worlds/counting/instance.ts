import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { repairDay, RepairUnfinished } from '../../../src/analytics/audit/repair.ts';
import { NotRepairable } from '../../../src/analytics/audit/repair-lease.ts';
import { AuditUnsettled } from '../../../src/analytics/audit/shard-audit.ts';
import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
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
import { CountingService, countsIn } from '../../analytics/counting-service.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';
import type { Life } from '../life.ts';

/** Days are closed when they ended so long ago. */
const RETENTION_DAYS = 1;
const KNOWN_CATEGORIES = ['fire', 'smoke', 'structure'];

/** What is said of a message whose day is closed. */
export const REFUSED_AS_CLOSED = `refused: ${CLOSED_DAY.refused}`;

/** What became of a repair: all is right; the day is closed, or about to be; or it must be started again. */
export type Repaired = 'right' | 'refused' | 'unfinished';

/** One step of a series. */
export interface StepAnswer {
  readonly question: Question;
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: number;
}

/** A process of the service, with memory of its own. What it is asked is asked in its {@link life}. */
export class Instance extends CountingService {
  readonly life: Life;
  readonly #tell: (line: () => string) => void;
  readonly #log: Log;

  constructor(life: Life, connection: TableConnection, shardsOfNewDays: number, tell: (line: () => string) => void) {
    const at =
      (level: string): Log['info'] =>
      (event, fields = {}) =>
        tell(() => `${level} ${event} ${JSON.stringify(fields)}`);
    const log = { info: at('info'), warn: at('warn'), error: at('error') };
    super(new Table(connection, { format: FORMAT }), shardsOfNewDays, log, { knownCategories: KNOWN_CATEGORIES });
    this.life = life;
    this.#tell = tell;
    this.#log = log;
  }

  /** As `POST /api/events`: what became of each message, in words. */
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
    await closeDays({ table: this.table, shards: this.shards, retentionDays: RETENTION_DAYS }, this.#log);
  }

  /** As `npm run audit`. @returns what differs; undefined if the day was written to all the time */
  async audit(day: Day): Promise<readonly string[] | undefined> {
    try {
      return await this.differences(day);
    } catch (error) {
      if (error instanceof AuditUnsettled) return undefined;
      throw error;
    }
  }

  /** As `npm run audit -- --repair`. */
  async repair(day: Day): Promise<Repaired> {
    try {
      const report = await repairDay(this.table, await auditDay(this.table, day), {
        say: (line) => this.#tell(() => line),
      });
      return report.differences.length === 0 ? 'right' : 'unfinished';
    } catch (error) {
      if (error instanceof NotRepairable) return 'refused';
      if (error instanceof AuditUnsettled || error instanceof RepairUnfinished) return 'unfinished';
      throw error;
    }
  }
}

/** Whether a request may fail with an error because of what storage does; the service answers 503. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof RecorderUnavailable || error instanceof StorageTrouble || error instanceof WriteConflict;

/** Whether an error says that what is stored is damaged. */
export const isDamage = (error: unknown): boolean => error instanceof DamagedRow;
