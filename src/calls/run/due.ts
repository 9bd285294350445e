import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { type Clock, sleepBy } from '../model/clock.ts';
import { endOfDay } from '../rules/day-limit.ts';
import { type LineState, withClaim, withProven } from '../rules/lines.ts';
import { deadlineOf } from '../rules/policy.ts';
import { next, RELEASED_AFTER_MS } from '../rules/queue.ts';
import { withoutOldFaults } from '../rules/whose-fault.ts';
import { type Policy, withoutNumber } from '../state/step.ts';
import { entriesOf, isCurrentEntry } from '../store/case-rows.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import { isUnreadable } from '../store/row-reader.ts';
import { type Due, type OpenRow, type Snapshot, type Waiting, waitingIn } from '../store/snapshot.ts';
import type { Beside } from '../store/writes.ts';
import type { Alarm } from './alarm.ts';
import { logNotDone } from './call-log.ts';
import type { Cases, Done } from './cases.ts';
import type { Attended, Driver } from './driver.ts';
import type { Publisher } from './publisher.ts';

/** Who does what is due. */
export interface DueWorkParts {
  readonly store: NotificationStore;
  readonly cases: Cases;
  readonly driver: Driver;
  readonly alarm: Alarm;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newId: () => string;
  readonly policy: Policy;
  /** One for each destination of outcomes. */
  readonly publishers: readonly Publisher[];
  /** For what happens outside any request. */
  readonly log: Log;
}

/** How much of each kind is under way at most: what hangs in one lane keeps nobody of another waiting. */
const LANES = { 'urgent dialling': 40, dialling: 16, looks: 16, expiry: 2 } as const;
type Lane = keyof typeof LANES;

// Azure ends a timer function after minutes; what is left is found by the next look.
const NO_MORE_AFTER_MS = 90_000;
// All that may be ringing or open is over within this time.
const LONGEST_CALL_MS = 300_000;
const CONFLICT_PAUSE_MS = 50;
// What cannot be read takes no line and no lane from others meanwhile.
const UNREADABLE_FOR_MS = 600_000;

/**
 * Finds what is due and does it: dials who is next, looks after calls of which nothing was heard, opens waves, deletes what has expired. Three call
 * it: the request itself, the end of a call (and other alarms of this process), and the timer function. A look with nothing due is one request to
 * storage. It starts what is due in lanes and does not wait for it: new work is seen while old work runs.
 */
export class DueWork {
  readonly #parts: DueWorkParts;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #inLane: Record<Lane, number> = { 'urgent dialling': 0, dialling: 0, looks: 0, expiry: 0 };
  /** When this instance saw claims first: the clocks of two instances differ. */
  #seenAt = new Map<string, number>();
  /** What is due of rows that cannot be read, and when it is tried again. */
  readonly #unreadable = new Map<string, number>();
  #looking: Promise<void> | undefined;
  #again = false;
  /** Something was left because its lane was full. */
  #isCrowded = false;

  constructor(parts: DueWorkParts) {
    this.#parts = parts;
  }

  /**
   * Does what is due, and fulfils when that is done, or after a while. It does not wait for publishing: a timer function that still runs is not
   * started again, and a topic that hangs would keep it from looking. Never throws.
   */
  async run(log: Log): Promise<void> {
    const done = this.look(log).then(async () => this.#worked());
    await Promise.race([done, sleepBy(this.#parts.clock, NO_MORE_AFTER_MS)]);
  }

  /** Starts what is due. While that is under way in this process, a further call has it look once more. Never throws. */
  async look(log: Log): Promise<void> {
    this.#again = true;
    this.#looking ??= this.#lookAgain(log).finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** Before the process ends: fulfils when nothing is under way. */
  async end(): Promise<void> {
    await this.#worked();
    await Promise.all(this.#parts.publishers.map(async (publisher) => publisher.end()));
  }

  async #worked(): Promise<void> {
    const { alarm, clock } = this.#parts;
    while (this.#looking !== undefined || this.#underWay.size > 0 || alarm.isDue) {
      await Promise.all([this.#looking, ...this.#underWay.values(), alarm.isDue ? sleepBy(clock, 5) : undefined]);
    }
  }

  async #lookAgain(log: Log): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        await this.#lookOnce(log);
      } catch (error) {
        if (error instanceof StorageTrouble) this.#parts.driver.noteTrouble();
        logNotDone(error, { due: undefined }, log);
      }
    }
  }

  async #lookOnce(log: Log): Promise<void> {
    const { store, clock, publishers, driver } = this.#parts;
    await driver.kept.write(log);
    const snapshot = await store.look(clock.now());
    const now = clock.now();
    for (const [key, until] of this.#unreadable) if (until <= now) this.#unreadable.delete(key);
    for (const publisher of publishers) publisher.run(snapshot.due, log);
    const urgent = new Set(
      snapshot.open.flatMap(({ isUrgent, attempt }) =>
        isUrgent && attempt ? `${attempt.notificationId}|${attempt.index}` : [],
      ),
    );
    const isUrgent = (due: Due) => due.kind === 'look' && urgent.has(`${due.notificationId}|${due.index}`);
    for (const due of snapshot.due.toSorted((one, other) => Number(isUrgent(other)) - Number(isUrgent(one)))) {
      const isExpiry = due.kind === 'expired_notification' || due.kind === 'expired_day';
      if (due.kind !== 'look' && due.kind !== 'notification' && !isExpiry) continue;
      this.#start(isExpiry ? 'expiry' : 'looks', due.rowKey, async () => this.#attend(due, snapshot, log), log);
    }
    for (const row of snapshot.open) {
      const overdueAt = Math.min(row.sentAt + LONGEST_CALL_MS, (row.lookAt ?? Infinity) + RELEASED_AFTER_MS);
      if (now < overdueAt || row.attempt === undefined) continue;
      this.#start('looks', row.rowKey, async () => driver.checkOpen(row), log);
    }
    await this.#dial(await this.#withNumbers(snapshot), log);
  }

  /** Starts something in its lane, unless it is under way or the lane is full: then it is found by the look after the next end. */
  #start(lane: Lane, key: string, doing: () => Promise<void>, log: Log): void {
    if (this.#underWay.has(key) || this.#unreadable.has(key)) return;
    if (this.#inLane[lane] >= LANES[lane]) {
      this.#isCrowded = true;
      return;
    }
    this.#inLane[lane] += 1;
    const run = async (): Promise<void> => {
      try {
        await doing();
      } catch (error) {
        // What cannot be read was told, and stops nothing.
        if (isUnreadable(error)) this.#putOff(key);
        else logNotDone(error, { due: lane }, log);
      }
      this.#inLane[lane] -= 1;
      this.#underWay.delete(key);
      if (!this.#isCrowded) return;
      this.#isCrowded = false;
      void this.look(this.#parts.log);
    };
    this.#underWay.set(key, run());
  }

  #putOff(key: string): void {
    this.#unreadable.set(key, this.#parts.clock.now() + UNREADABLE_FOR_MS);
  }

  async #attend(due: Due, snapshot: Snapshot, log: Log): Promise<void> {
    const { driver, store } = this.#parts;
    if (due.kind === 'look') await this.#dropIfLeftOver(due, await driver.look(due, log));
    else if (due.kind === 'notification') {
      await this.#dropIfLeftOver(due, await driver.lookAtNotification(due.notificationId, snapshot.open, log));
      // Who is in its wave may have to be dialled now.
      this.#parts.alarm.set('line', this.#parts.clock.now());
    } else await store.deleteExpired(due);
  }

  /** An event moves its entry. One that none moves any more is of what was stopped or deleted. */
  async #dropIfLeftOver(due: Due, attended: Attended): Promise<void> {
    if (attended === 'moved') return;
    const { store } = this.#parts;
    if (attended === 'unknown') await store.drop(due);
    else if (!isCurrentEntry(due, attended)) await store.dropLeftOver(due, attended);
    else if (attended.recipients.some(({ isUnreadable: isLost }) => isLost === true)) this.#putOff(due.rowKey);
  }

  /** Those whose entries do not name their numbers: a version before wrote them, or they cannot be read. */
  async #withNumbers(snapshot: Snapshot): Promise<Snapshot> {
    const queue = [...snapshot.queue];
    for (const due of snapshot.due) {
      if ((due.kind !== 'dial' && due.kind !== 'dial_urgent') || due.people !== undefined || due.number !== undefined)
        continue;
      if (this.#unreadable.has(due.rowKey)) continue;
      try {
        const stored = await this.#parts.store.load(due.notificationId);
        const members = waitingIn({ ...due, ...(stored && entriesOf(stored).get(due.rowKey)) });
        if (members.length === 0) await this.#dropIfLeftOver(due, stored ?? 'unknown');
        queue.push(...members);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        this.#putOff(due.rowKey);
      }
    }
    return { ...snapshot, queue: queue.filter((one) => !this.#unreadable.has(personOf(one))) };
  }

  /** Dials who is next, one claim after the other; the requests go side by side. */
  async #dial(read: Snapshot, log: Log): Promise<void> {
    const { clock, cases, alarm, newId, policy } = this.#parts;
    let at = read;
    // One decision a look at least, however much happens meanwhile: its commit is void if it was outdated.
    for (let isFirst = true; isFirst || !this.#again; isFirst = false) {
      const now = clock.now();
      const late = at.queue.find(({ notificationId }) => now >= deadlineOf(notificationId, policy.rules));
      const open = this.openIn(at, now);
      const line = withProven(withoutOldFaults(at.line, cases, now), open, now);
      const decided = late === undefined ? next(at.queue, open, line, now) : undefined;
      cases.isSomebodyWaiting = at.queue.length > 0;
      if (decided?.kind === 'wait') {
        alarm.set('queue', decided.until);
        if (line !== at.line) await this.#learn(line, at);
        return;
      }
      if (decided?.kind === 'hang up') {
        at = await this.#makeWay(decided.call, { ...at, line }, log);
        continue;
      }
      const who = late ?? decided?.who;
      if (who === undefined) return;
      const lane = who.isUrgent ? 'urgent dialling' : 'dialling';
      if (this.#inLane[lane] >= LANES[lane]) {
        this.#isCrowded = true;
        return;
      }
      const claim = { kind: 'claim', beside: open.length, isProbe: decided?.isProbe } as const;
      const known = decided === undefined ? line : withClaim(line, decided.isProbe, policy.line.callsPerSecond, now);
      const beside = {
        snapshot: at,
        who,
        line: known,
        ...(late ? {} : await this.#takingOver(who, decided?.takesOver, at)),
      };
      const attemptId = newId();
      const done = await this.#claim(who, { index: who.index, attemptId }, claim, beside, log);
      if (done === undefined) return;
      at = { ...at, line: known, queue: at.queue.filter((one) => one !== who) };
      if (done === 'unreadable') this.#putOff(personOf(who));
      if (done === 'unreadable' || !done.commands.some(({ command }) => command === 'dial')) continue;
      this.#seenAt.set(attemptId, now);
      const attempt = { notificationId: who.notificationId, index: who.index, attemptId };
      const call = { rowKey: '', number: who.number, isUrgent: who.isUrgent, sentAt: now, attemptId, attempt };
      at = { ...at, open: [...at.open.filter(({ number }) => number !== who.number), call] };
      this.#start(lane, attemptId, async () => this.#parts.driver.carryOut(done, log), log);
    }
  }

  /** The open calls that can be read; those that were not accepted yet since this instance saw them first. */
  openIn({ open }: Snapshot, now: number): readonly OpenRow[] {
    const seenAt = new Map<string, number>();
    const calls = open.flatMap((call): readonly OpenRow[] => {
      if (call.attemptId === undefined) return [];
      if (call.acceptedAt !== undefined) return [call];
      const sentAt = this.#seenAt.get(call.attemptId) ?? now;
      seenAt.set(call.attemptId, sentAt);
      return [{ ...call, sentAt }];
    });
    this.#seenAt = seenAt;
    return calls;
  }

  async #learn(line: LineState, at: Snapshot): Promise<void> {
    try {
      await this.#parts.store.learn(line, at);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      this.#again = true;
    }
  }

  /** Whose number is taken over: that of a call which is held to be over, or of a row that cannot be read. */
  async #takingOver(
    { number }: Waiting,
    call: OpenRow | undefined,
    { open }: Snapshot,
  ): Promise<Pick<Beside, 'takesOver' | 'earlier'>> {
    const takesOver = call ?? open.find((one) => one.number === number && one.attempt === undefined);
    if (takesOver?.attempt === undefined) return { takesOver };
    const known = await this.#parts.store.loadReadable(takesOver.attempt.notificationId);
    return { takesOver, earlier: known && { known, next: withoutNumber(known, takesOver.attempt) } };
  }

  /** Claims somebody, or puts them off until there are calls again. @returns undefined if another writer was first: it looks again */
  async #claim(
    who: Waiting,
    ref: { readonly index: number; readonly attemptId: string },
    event: Parameters<Cases['take']>[2],
    beside: Beside & { readonly snapshot: Snapshot },
    log: Log,
  ): Promise<Done | 'unreadable' | undefined> {
    const { cases, store, clock, random } = this.#parts;
    const { notificationId: id } = who;
    try {
      const done = await cases.take(id, ref, event, log, beside);
      if (done === undefined) {
        await store.drop(who);
        this.#again = true;
        return undefined;
      }
      if (done.isOutOfCalls === true) {
        const until = endOfDay(clock.now());
        const fields = { notification_id: id, recipient_index: who.index, until: new Date(until).toISOString() };
        log.error('day limit reached', fields);
        const { snapshot } = beside;
        return await cases.take(id, ref, { kind: 'postpone', until }, log, { snapshot, who });
      }
      if (done.stored.recipients[who.index]?.isUnreadable === true) return 'unreadable';
      // Left over: of somebody who does not wait any more.
      const isGrouped = beside.snapshot.queue.some((one) => one !== who && one.rowKey === who.rowKey);
      const entry = isGrouped ? { rowKey: who.rowKey } : who;
      if (!done.isChanged) await store.dropLeftOver(entry, done.stored, beside.snapshot, who);
      return done;
    } catch (error) {
      if (isUnreadable(error)) return 'unreadable';
      if (!(error instanceof WriteConflict)) throw error;
      await sleepBy(clock, random() * CONFLICT_PAUSE_MS);
      this.#again = true;
      return undefined;
    }
  }

  /** Hangs up a call that only rings, for an urgent one. */
  async #makeWay(call: OpenRow, at: Snapshot, log: Log): Promise<Snapshot> {
    const { cases, store, driver, clock, random } = this.#parts;
    const { attempt } = call;
    const without = { ...at, open: at.open.filter(({ number }) => number !== call.number) };
    if (attempt === undefined) return without;
    try {
      const beside = { snapshot: at, line: at.line };
      const done = await cases.take(attempt.notificationId, attempt, { kind: 'make way' }, log, beside);
      const known = done?.stored.recipients[attempt.index]?.attempts.find(({ id }) => id === attempt.attemptId);
      if (known?.holdsNumber !== true) {
        await store.dropOpen(call, done?.stored);
        return without;
      }
      if (done?.isChanged === true) {
        log.info('call makes way', { notification_id: attempt.notificationId, recipient_index: attempt.index });
        this.#start('urgent dialling', `hang up ${attempt.attemptId}`, async () => driver.carryOut(done, log), log);
      }
      const { speakingAt: connectedAt, hangingUpSince: hangUpAt = clock.now() } = known;
      return { ...without, open: [...without.open, { ...call, connectedAt, hangUpAt }] };
    } catch (error) {
      if (isUnreadable(error)) return { ...without, open: [...without.open, { ...call, hangUpAt: 0 }] };
      if (!(error instanceof WriteConflict)) throw error;
      await sleepBy(clock, random() * CONFLICT_PAUSE_MS);
      this.#again = true;
      return at;
    }
  }
}

/** Somebody who waits, among those of one entry. */
const personOf = ({ rowKey, index }: Waiting): string => `${rowKey} ${index}`;
