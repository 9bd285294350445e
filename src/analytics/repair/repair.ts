import type { AuditReport } from '../audit/audit.ts';
import type { Day } from '../model/day.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { NotRepairable, examineDay, type Examination } from './examine-day.ts';
import { RepairRound } from './repair-round.ts';

/** Others changed the same rows during every try, or differences came back after they were put right. */
export class RepairUnfinished extends Error {
  override readonly name = 'RepairUnfinished';
}

const ROUNDS = 12;

/** What a repair works with. */
export interface RepairOptions {
  /** Called with a sentence after each transaction. */
  readonly say: (line: string) => void;
}

/**
 * Puts right what an audit found, in small transactions, while the day may be written to. What differs becomes one more difference
 * in a stripe of its own; rows that cannot be decoded are set aside first, and what they held is counted anew. Stopped anywhere, it
 * goes on when it is started again.
 *
 * @returns the last audit: without differences
 * @throws {RepairUnfinished | NotRepairable | AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const repairDay = async (
  table: Table,
  day: Day,
  examined: Examination,
  { say }: RepairOptions,
): Promise<AuditReport> => {
  let examination = examined;
  for (let round = 1; examination.report.differences.length > 0; round += 1) {
    if (round > ROUNDS) throw new RepairUnfinished('differences are left: run the repair again');
    try {
      await putRight(new RepairRound(table, day, examination, say));
    } catch (error) {
      if (error instanceof DayClosed) throw new NotRepairable('the day was closed meanwhile', { cause: error });
      // It may have been applied or not: the next audit tells.
      if (!(error instanceof WriteConflict || error instanceof StorageTrouble)) throw error;
      say('storage or another writer came between: reading again');
    }
    examination = await examineDay(table, day);
  }
  return examination.report;
};

/**
 * The remedies of the first kind that is needed. The others follow in later rounds, after another audit: how much a counter
 * lacks is known only once every row can be decoded and every event is in its shard.
 */
const putRight = async (round: RepairRound): Promise<void> => {
  if (await round.shards()) return;
  const structure = [await round.stripes(), await round.setAside(), await round.numbers()];
  if (structure.includes(true)) return;
  if (await round.moves()) return;
  await round.differences();
};
