import { DayHeld, RecorderUnavailable } from '../../../src/analytics/errors.ts';
import type { Day } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Log } from '../../../src/log.ts';
import { CountingService, countsIn } from '../../analytics/counting-service.ts';
import type { PlainMessage, Question } from '../../analytics/oracle.ts';
import type { Life } from '../life.ts';

/** Days are closed when they ended so long ago. */
const RETENTION_DAYS = 1;
const CONFIGURED_CATEGORIES = ['fire', 'smoke', 'structure'];

/** What is said of a message whose day is closed. */
export const REFUSED_AS_CLOSED = `refused: ${CLOSED_DAY.refused}`;

/** One step of a series. */
export interface StepAnswer {
  readonly question: Question;
  readonly counts: ReadonlyMap<string, number>;
  readonly cameras: number;
}

/** A process of the service, with memory of its own. What it is asked is asked in its {@link life}. */
export class Instance extends CountingService {
  readonly life: Life;
  readonly #log: Log;

  constructor(life: Life, connection: TableConnection, shardsOfNewDays: number, tell: (line: () => string) => void) {
    const at =
      (level: string): Log['info'] =>
      (event, fields = {}) =>
        tell(() => `${level} ${event} ${JSON.stringify(fields)}`);
    const log = { info: at('info'), warn: at('warn'), error: at('error') };
    super(new Table(connection, { format: FORMAT }), shardsOfNewDays, log, {
      configuredCategories: CONFIGURED_CATEGORIES,
    });
    this.life = life;
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
    await closeDays({ table: this.table, days: this.days, retentionDays: RETENTION_DAYS }, this.#log);
  }
}

/** Whether a request may fail with an error because of what storage does; the service answers 503. */
export const isUnavailable = (error: unknown): boolean =>
  [RecorderUnavailable, DayHeld, StorageTrouble, WriteConflict].some((kind) => error instanceof kind);
