import { grouped } from '../grouped.ts';
import type { Advance } from '../progress.ts';
import { compareCounts } from './compare-counts.ts';
import type { Sending } from './deliver.ts';
import { CommandError } from '../command-line.ts';
import { type Position, STDIN } from './options.ts';
import { appendRejected, mustTakeRejected, setAsideRejected } from './rejected.ts';
import { sendSource } from './send-source.ts';
import type { Source } from './source.ts';

/** What became of all sources so far. */
export interface Sent {
  readonly counts: { recorded: number; unchanged: number; rejected: number };
  /** The files of rejected events. */
  readonly rejectedFiles: Set<string>;
  /** The lowest item that the service has not answered for, as `--from` takes it. */
  position: string;
}

/** What is sent before anything is. */
export const nothingSent = (): Sent => ({
  counts: { recorded: 0, unchanged: 0, rejected: 0 },
  rejectedFiles: new Set(),
  position: '',
});

/** How sources are sent. */
export interface SendingAll extends Sending {
  /** Most events in a request. */
  readonly batch: number;
  /** Most requests in flight. */
  readonly requests: number;
  /** Where the sending resumes; undefined: at the beginning of the first source. */
  readonly resumesAt: Position | undefined;
  /** Is told after each batch that the service has answered. */
  readonly onAnswered: (advance: Advance) => void;
  /** Is told how a day's count compares with its backups. */
  readonly onCompared: (text: string) => void;
}

/** Beside the source, or in the working directory. */
const rejectedPathOf = ({ name }: Source): string => `${name === STDIN ? 'stdin' : name}.rejected.ndjson`;

/**
 * Sends the sources one after the other. After the last backup of a day it compares the day's count.
 *
 * @param sent is changed as the service answers
 * @returns whether all counts are right
 * @throws {CommandError} if a source cannot be sent to its end; `sent` says where to resume
 */
export const sendAll = async (sources: readonly Source[], sent: Sent, sending: SendingAll): Promise<boolean> => {
  const first = sending.resumesAt === undefined ? 0 : sources.findIndex(({ name }) => name === sending.resumesAt?.name);
  if (first < 0) throw new CommandError(`There is no ${sending.resumesAt?.name} among what is sent.`);
  const rest = sources.slice(first);
  for (const source of rest) await mustTakeRejected(rejectedPathOf(source));
  const size = rest.reduce((sum, source) => sum + (source.size ?? NaN), 0);
  let [sizeBefore, items, isRight] = [0, 0, true];
  for (const [index, source] of rest.entries()) {
    const { name, backup } = source;
    const resumesAt = index === 0 ? sending.resumesAt?.item : undefined;
    const rejectedPath = rejectedPathOf(source);
    const kept = resumesAt === undefined ? await setAsideRejected(rejectedPath) : undefined;
    if (kept !== undefined) sending.note(`The rejected events of an earlier run are in ${kept} now.`);
    let next = resumesAt ?? 1;
    sent.position = `${name}:${next}`;
    const input = await source.open(sending.stop);
    await sendSource({
      ...sending,
      input,
      skip: next - 1,
      onAnswered: async (some, outcome) => {
        const rejected = await appendRejected(rejectedPath, name, some, outcome);
        if (rejected > 0) sent.rejectedFiles.add(rejectedPath);
        sent.counts.recorded += outcome.recorded;
        sent.counts.unchanged += outcome.unchanged;
        sent.counts.rejected += rejected;
        next += some.length;
        items += some.length;
        sent.position = `${name}:${next}`;
        const part = input.part();
        sending.onAnswered({
          label: sent.position,
          part: part === undefined || Number.isNaN(size) ? undefined : (sizeBefore + part * (source.size ?? 0)) / size,
          count: items,
          text: sent.counts.rejected === 0 ? '' : `${grouped(sent.counts.rejected)} rejected`,
        });
      },
    });
    sizeBefore += source.size ?? 0;
    if (backup === undefined || rest[index + 1]?.backup?.day === backup.day) continue;
    const ofDay = sources.flatMap((other) => (other.backup?.day === backup.day ? other.backup : []));
    const compared = await compareCounts(sending.target, backup.day, ofDay);
    sending.onCompared(compared.text);
    isRight &&= compared.isRight;
  }
  return isRight;
};
