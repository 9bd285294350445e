import { auditDay, type AuditReport } from '../../../src/analytics/audit/audit.ts';
import { rebuildDay, RebuildRefused, unsealDay } from '../../../src/analytics/audit/rebuild.ts';
import { DayClosed } from '../../../src/analytics/errors.ts';
import { type Day, dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { backUpDays } from '../../../src/analytics/retention/back-up-days.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { exportDay } from '../../../src/analytics/retention/export-day.ts';
import { FORMAT } from '../../../src/analytics/rows/properties.ts';
import type { Log } from '../../../src/log.ts';
import type { BackupContainer } from '../../../src/storage/azure-container.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { Table } from '../../../src/storage/table.ts';
import { countsIn, CountingProcess } from '../../analytics/counting.ts';
import { type Answer, DAY, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import type { Life } from '../life.ts';

/** The outcome of a message whose day is closed. */
export const REFUSED_AS_CLOSED = `refused: ${CLOSED_DAY.refused}`;

/** The subject of an answer, by the answer itself, and the answer. */
export type Answered = readonly [question: Question, answer: Answer];

/** The parts of a process of a world. */
interface InstanceParts {
  readonly shards: number;
  readonly container: BackupContainer;
  /** Takes a line of the log of the world. */
  readonly note: (line: () => string) => void;
}

/** A process of the service, which runs in its {@link life}. */
export class Instance extends CountingProcess {
  readonly life: Life;
  readonly #parts: InstanceParts;
  readonly #log: Log;

  constructor(life: Life, connection: TableConnection, parts: InstanceParts) {
    const at =
      (level: string): Log['info'] =>
      (event, fields = {}) =>
        parts.note(() => `${level} ${event} ${JSON.stringify(fields)}`);
    const log = { info: at('info'), warn: at('warn'), error: at('error') };
    super(new Table(connection, { format: FORMAT }), parts.shards, { log });
    this.life = life;
    this.#parts = parts;
    this.#log = log;
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
    return steps.map((answered) => [
      { ...answered.period, cameraId },
      { counts: countsIn(answered.tally), cameras: answered.cameras().size },
    ]);
  }

  /** As `GET /api/analytics/cameras`: the answer about each of these cameras on a day, and about each camera in the response. */
  async camerasOf(day: Question, cameraIds: readonly string[]): Promise<readonly Answered[]> {
    const activities = await this.reader.cameras(dayOf(instantFrom(day.start)), 1);
    const counted = new Map(activities.map(({ cameraId, tally }) => [cameraId, countsIn(tally)]));
    return Array.from(new Set([...cameraIds, ...counted.keys()]), (cameraId) => {
      const counts = counted.get(cameraId);
      return [
        { ...day, cameraId },
        { counts: counts ?? new Map<string, number>(), cameras: Number(counts !== undefined) },
      ];
    });
  }

  /** As `GET /api/analytics/accuracy`. */
  async accuracyOf(day: Question): Promise<readonly Answered[]> {
    return [[day, { counts: await this.accuracy(dayOf(instantFrom(day.start)), day.cameraId) }]];
  }

  /** As `GET /api/analytics/last-seen` of two days: the first microsecond of the minute in which each camera was last seen. */
  async lastSeen({ end }: Question): Promise<ReadonlyMap<string, bigint>> {
    return this.reader.lastMinutes(dayOf(instantFrom(end)), 2);
  }

  /** As the timers. */
  async backUpDays(runMs: number): Promise<void> {
    const { shards, container } = this.#parts;
    await backUpDays({ table: this.table, shards, container: async () => container, runMs }, this.#log);
  }

  async closeDays(retentionDays: number, backsUp: boolean, runMs: number): Promise<void> {
    const { shards } = this.#parts;
    const container = backsUp ? async () => this.#parts.container : undefined;
    await closeDays({ table: this.table, shards, retentionDays, container, runMs }, this.#log);
  }

  /** As `npm run export`: the lines of the events of a day. */
  async exportDay(day: Day): Promise<readonly string[] | 'closed'> {
    const pages = exportDay(this.table, this.#parts.shards, day);
    try {
      return (await Array.fromAsync(pages)).flatMap(({ lines }) => lines.split('\n').filter((line) => line !== ''));
    } catch (error) {
      if (error instanceof DayClosed) return 'closed';
      throw error;
    }
  }

  /** As `npm run audit`. */
  async audit(day: Day): Promise<AuditReport> {
    return auditDay(this.table, this.#parts.shards, day);
  }

  /** As `npm run audit -- --unseal`. */
  async open(day: Day): Promise<number> {
    return unsealDay(this.table, this.#parts.shards, day);
  }

  /** As `npm run audit -- --rebuild`. @returns the reason if the rebuild is refused */
  async rebuild(day: Day): Promise<'done' | RebuildRefused> {
    const { shards, note } = this.#parts;
    try {
      await rebuildDay(this.table, shards, day, { withoutUnreadable: false, say: (line) => note(() => line) });
      return 'done';
    } catch (error) {
      if (error instanceof RebuildRefused) return error;
      throw error;
    }
  }
}
