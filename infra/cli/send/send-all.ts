import { ReadStream } from 'node:fs';

import { z } from 'zod';

import { DayClosed } from '../../../src/analytics/errors.ts';
import { MAX_EVENTS_BYTES } from '../../../src/http/event-batch.ts';
import { ask } from '../ask.ts';
import { CommandError } from '../command-line.ts';
import { grouped } from '../grouped.ts';
import type { Advance } from '../progress.ts';
import { Delivery, type Outcome, type Sending } from './deliver.ts';
import { type Item, readItems } from './items.ts';
import { type Position, STDIN, type Target } from './options.ts';
import { appendRejected, setAsideRejected } from './rejected.ts';
import type { BackupFacts, Source } from './source.ts';

export interface Sent {
  readonly counts: { recorded: number; unchanged: number; rejected: number };
  readonly rejectedFiles: Set<string>;
  /** The lowest item that the service has not answered for, as `--from` takes it. */
  position: string;
}

export const nothingSent = (): Sent => ({
  counts: { recorded: 0, unchanged: 0, rejected: 0 },
  rejectedFiles: new Set(),
  position: '',
});

export interface SendingAll extends Sending {
  /** The maximum number of events in a request. */
  readonly batch: number;
  /** The maximum number of requests in flight. */
  readonly requests: number;
  /** Where the sending resumes; undefined: at the beginning of the first source. */
  readonly resumesAt: Position | undefined;
  readonly onAnswered: (advance: Advance) => void;
  readonly onCompared: (text: string) => void;
}

/** Next to the source, or in the working directory. */
const rejectedPathOf = ({ name, backup }: Source): string => {
  const path = backup === undefined ? name : name.replaceAll('/', '-');
  return `${name === STDIN ? 'stdin' : path}.rejected.ndjson`;
};

/**
 * Sends the sources one after the other. After the last backup of a day it compares the day's count. If the service refuses an event of a
 * backup because its day is closed, the other backups of the day are left out.
 *
 * @param sent is changed as the service answers
 * @returns whether all counts are right
 * @throws {CommandError} if the sending ends early; `sent` says where to resume
 */
export const sendAll = async (sources: readonly Source[], sent: Sent, sending: SendingAll): Promise<boolean> => {
  const first = sending.resumesAt === undefined ? 0 : sources.findIndex(({ name }) => name === sending.resumesAt?.name);
  if (first < 0) throw new CommandError(`--from names ${sending.resumesAt?.name}, which is not among the inputs.`);
  const rest = sources.slice(first);
  const size = rest.reduce((sum, source) => sum + (source.size ?? NaN), 0);
  let [sizeBefore, items, isRight] = [0, 0, true];
  let closedDay: string | undefined;
  const sendSource = async (source: Source, resumesAt: number | undefined): Promise<void> => {
    const { name, backup } = source;
    const rejectedPath = rejectedPathOf(source);
    const kept = resumesAt === undefined ? await setAsideRejected(rejectedPath) : undefined;
    if (kept !== undefined) sending.note(`The rejected events of an earlier run are in ${kept} now.`);
    let next = resumesAt ?? 1;
    sent.position = `${name}:${next}`;
    const stream = await source.open();
    const batches = batchesOf(readItems(name, stream, sending.stop), next - 1, sending.batch);
    await sendBatches(batches, { ...sending, isOfOneDay: backup !== undefined }, async (some, outcome) => {
      const rejected = await appendRejected(rejectedPath, name, some, outcome);
      if (rejected > 0) sent.rejectedFiles.add(rejectedPath);
      for (const { line, fault, isEnd } of some) if (isEnd) sending.note(`${name}:${line} ${fault}.`);
      sent.counts.recorded += outcome.recorded;
      sent.counts.unchanged += outcome.unchanged;
      sent.counts.rejected += rejected;
      next += some.length;
      items += some.length;
      sent.position = `${name}:${next}`;
      const read = stream instanceof ReadStream ? stream.bytesRead : next - 1;
      sending.onAnswered({
        label: sent.position,
        part: Number.isNaN(size) ? undefined : Math.min((sizeBefore + read) / size, 1),
        count: items,
        text: sent.counts.rejected === 0 ? '' : `${grouped(sent.counts.rejected)} rejected`,
      });
    });
  };
  for (const [index, source] of rest.entries()) {
    const { backup } = source;
    try {
      const isLeftOut = backup !== undefined && backup.day === closedDay;
      if (!isLeftOut) await sendSource(source, index === 0 ? sending.resumesAt?.item : undefined);
    } catch (error) {
      if (!(error instanceof DayClosed) || backup === undefined) throw error;
      closedDay = backup.day;
      sending.note(`${closedDay} is closed: the service takes no events of it. Its backups are left out.`);
    }
    sizeBefore += source.size ?? 0;
    if (backup === undefined || rest[index + 1]?.backup?.day === backup.day) continue;
    const ofDay = sources.flatMap((other) => (other.backup?.day === backup.day ? other.backup : []));
    const compared = await compareCounts(sending.target, backup.day, ofDay);
    sending.onCompared(compared.text);
    isRight &&= compared.isRight;
  }
  return isRight;
};

/**
 * Sends batches, several requests at a time. If a request fails, the requests in flight are finished first.
 *
 * @param onAnswered receives the batches in the order of the source, up to the first failure
 * @throws {CommandError | DayClosed} if a batch cannot be sent
 */
const sendBatches = async (
  batches: AsyncIterable<readonly Item[]>,
  sending: SendingAll,
  onAnswered: (items: readonly Item[], outcome: Outcome) => Promise<void>,
): Promise<void> => {
  const delivery = new Delivery(sending);
  const inFlight: { readonly items: readonly Item[]; readonly outcome: Promise<Outcome> }[] = [];
  const awaitOldest = async (): Promise<void> => {
    const [oldest] = inFlight;
    if (oldest === undefined) return;
    const outcome = await oldest.outcome;
    inFlight.shift();
    await onAnswered(oldest.items, outcome);
  };
  try {
    for await (const items of batches) {
      if (inFlight.length === sending.requests) await awaitOldest();
      const outcome = delivery.deliver(items.filter(({ fault }) => fault === undefined));
      // It is awaited later, in its turn.
      outcome.catch(() => undefined);
      inFlight.push({ items, outcome });
    }
  } finally {
    try {
      while (inFlight.length > 0) await awaitOldest();
    } finally {
      await Promise.allSettled(inFlight.map(({ outcome }) => outcome));
    }
  }
};

/** Splits the items after the first `skip` into batches that fit into a request. */
async function* batchesOf(items: AsyncIterable<Item>, skip: number, most: number): AsyncGenerator<readonly Item[]> {
  let skipped = 0;
  let batch: Item[] = [];
  let bytes = 2;
  for await (const item of items) {
    skipped += 1;
    if (skipped <= skip) continue;
    const size = item.fault === undefined ? Buffer.byteLength(item.text) + 1 : 0;
    if (batch.length >= most || bytes + size > MAX_EVENTS_BYTES) {
      yield batch;
      [batch, bytes] = [[], 2];
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

const countSchema = z.object({ total_events: z.number() });

/**
 * Compares the events of a day's backups with the day's count in the service, which may have grown since the backup.
 *
 * @throws {CommandError} if the service does not answer
 */
const compareCounts = async ({ url, key }: Target, day: string, backups: readonly BackupFacts[]) => {
  const { total_events: counted } = await ask(url, `/api/analytics/day?date=${day}`, countSchema, { key });
  const events = backups.reduce((sum, backup) => sum + backup.events, 0);
  const unreadable = backups.reduce((sum, backup) => sum + backup.unreadable, 0);
  const isRight = counted >= events;
  const lines = [
    `${day}  ${grouped(events).padStart(12)} events  ${grouped(counted)} counted${isRight ? '' : ': events are missing'}`,
    ...(unreadable > 0 ? [`${day}  ${grouped(unreadable)} rows could not be read when it was backed up`] : []),
  ];
  return { isRight, text: lines.join('\n') };
};
