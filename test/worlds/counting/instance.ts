import { RewriteAbandoned, rewriteDay, RewriteRefused } from '../../../src/analytics/audit/rewrite.ts';
import { DayHeld, RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { type Day, dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Log } from '../../../src/log.ts';
import { countsIn, CountingProcess } from '../../analytics/counting.ts';
import { DAY, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import type { Life } from '../life.ts';
import type { Answer } from './counts.ts';

/** The outcome of a message whose day is closed. */
export const REFUSED_AS_CLOSED = `refused: ${CLOSED_DAY.refused}`;

/** The end of a rewrite: the day is rewritten; it is closed, or about to be; it has no events; or it must be started again. */
export type Rewritten = 'done' | 'closes' | 'empty' | 'again';

/** A question and its answer. */
type Answered = readonly [question: Question, answer: Answer];

/** A process of the service, which runs in its {@link life}. */
export class Instance extends CountingProcess {
  readonly life: Life;
  readonly #log: Log;
  readonly #tell: (line: () => string) => void;

  constructor(life: Life, connection: TableConnection, shardsOfNewDays: number, tell: (line: () => string) => void) {
    const at =
      (level: string): Log['info'] =>
      (event, fields = {}) =>
        tell(() => `${level} ${event} ${JSON.stringify(fields)}`);
    const log = { info: at('info'), warn: at('warn'), error: at('error') };
    super(new Table(connection, { format: FORMAT }), shardsOfNewDays, { log });
    this.life = life;
    this.#log = log;
    this.#tell = tell;
  }

  /** As `POST /api/events`: the outcome of each message, in words. */
  async outcomes(messages: readonly PlainMessage[]): Promise<readonly string[]> {
    const outcomes = await this.record(messages);
    return outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : `refused: ${outcome.refused}`));
  }

  /** As `GET /api/analytics/series`, in steps that suit the length of the period. */
  async series({ start, end, cameraId }: Question): Promise<readonly Answered[]> {
    const step = end - start > DAY ? '6_hours' : end - start > DAY / 12n ? '30_minutes' : '5_minutes';
    const steps = await this.reader.series({ start: instantFrom(start), end: instantFrom(end) }, step, cameraId);
    return steps.map(({ period, tally, activeCameras }) => [
      { start: period.start, end: period.end, cameraId },
      { counts: countsIn(tally), cameras: activeCameras },
    ]);
  }

  /** As `GET /api/analytics/cameras`: the answer about each of these cameras on a day, and about each camera in the response. */
  async camerasOf(start: bigint, cameraIds: readonly string[]): Promise<readonly Answered[]> {
    const activities = await this.reader.cameras(dayOf(instantFrom(start)), 1);
    const counted = new Map(activities.map(({ cameraId, tally }) => [cameraId, countsIn(tally)]));
    return Array.from(new Set([...cameraIds, ...counted.keys()]), (cameraId) => {
      const counts = counted.get(cameraId) ?? new Map<string, number>();
      const question = { start, end: start + DAY - 1n, cameraId };
      return [question, { counts, cameras: counts.has('events') ? 1 : 0 }] as const;
    });
  }

  /** As the timer. */
  async closeDays(): Promise<void> {
    await closeDays({ table: this.table, days: this.days, retentionDays: 1 }, this.#log);
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
