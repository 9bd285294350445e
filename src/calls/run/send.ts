import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';
import { isUrgent } from '../model/alert-types.ts';
import { type Clock, sleepBy } from '../model/clock.ts';
import { newNotificationId, type NotificationId } from '../model/ids.ts';
import type { NotificationRequest, Sent, SentCall } from '../model/notification-request.ts';
import type { PhoneNumber } from '../model/phone-number.ts';
import { CALLS_USED_UP, endOfDay } from '../rules/day-limit.ts';
import { keyUse } from '../rules/idempotency.ts';
import { withClaim } from '../rules/lines.ts';
import { next } from '../rules/queue.ts';
import { newNotification, type NotificationCase } from '../state/notification.ts';
import { isFinal, type Recipient } from '../state/recipient.ts';
import { type Policy, step } from '../state/step.ts';
import type { StoredCase } from '../store/case-rows.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import { queueOf } from '../store/snapshot.ts';
import type { IdempotencyRow } from '../store/rows.ts';
import type { Cases } from './cases.ts';
import type { Driver } from './driver.ts';
import type { DueWork } from './due.ts';
import { whyTheyWait } from './waits.ts';

/** With what requests are taken. */
export interface SendingParts {
  readonly store: NotificationStore;
  readonly cases: Cases;
  readonly driver: Driver;
  readonly due: DueWork;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newId: () => string;
}

/** What became of the wish to create a notification. */
type Created =
  | { readonly kind: 'created'; readonly stored: StoredCase; readonly attemptId: string }
  /** Its key was used in the last 24 hours. */
  | { readonly kind: 'key used'; readonly earlier: IdempotencyRow }
  /** Our own policy refuses all recipients. */
  | { readonly kind: 'refused'; readonly known: NotificationCase };

// Some seconds of outage are waited for.
const WRITTEN_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
const MOST_CONFLICTS = 30;
const LONGEST_PAUSE_MS = 400;
// The answer to a request does not wait longer for those who are dialled after the first.
const DIALLED_WITHIN_MS = 8_000;

/** From a request to the calls: all rows are written first, with their key and the calls that they take of the day's. */
export class Sending {
  readonly #parts: SendingParts;

  constructor(parts: SendingParts) {
    this.#parts = parts;
  }

  /** Writes a notification down and dials its recipients; see `Phone.send`. @throws {StorageTrouble} */
  async send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> {
    const { policy, clock, newId, store, cases } = this.#parts;
    const { waves, waveMs = 0, alertType } = request;
    if ((waves.length - 1) * waveMs >= policy.rules.deadlineMs) return { kind: 'waves too late' };
    const numbers = waves.flat();
    const id = newNotificationId(clock.now(), newId());
    const created = await this.#create(id, request, key);
    switch (created.kind) {
      case 'refused': {
        this.#logDayLimit(created.known, log);
        const calls = await this.#callsOf(numbers, created.known);
        const fields = { alert_type: alertType.name, recipients: calls.length, reason: reasonOf(calls[0]) };
        log.error('notification refused', fields);
        return { kind: 'refused', calls };
      }
      case 'key used': {
        const { notificationId, fingerprint } = created.earlier;
        if (key === undefined || fingerprint !== keyUse(key, request).fingerprint) {
          return { kind: 'key of another request' };
        }
        const known = await store.load(notificationId);
        if (known === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id: notificationId, calls: await this.#callsOf(numbers, known) };
      }
      case 'created': {
        const { stored } = created;
        this.#logDayLimit(stored, log);
        await this.#dialFirst(created, log);
        return { kind: 'sent', id, calls: await this.#callsOf(numbers, cases.recall(id) ?? stored) };
      }
    }
  }

  /** Sends the call request of the first one, if that was claimed, and has the others dialled. */
  async #dialFirst({ stored, attemptId }: Extract<Created, { kind: 'created' }>, log: Log): Promise<void> {
    const { cases, driver, due, clock } = this.#parts;
    cases.remember(stored);
    const index = stored.recipients.findIndex(({ attempts }) => attempts.some(({ id }) => id === attemptId));
    const commands = index < 0 ? [] : [{ command: 'dial', index, attemptId } as const];
    const isMore = stored.recipients.some(({ state }) => state === 'waiting');
    cases.isSomebodyWaiting ||= isMore;
    const dialling = async (): Promise<void> => {
      const first = driver.carryOut({ stored, isChanged: true, commands }, log);
      if (isMore) await due.look(log);
      await first;
      if (isMore || cases.isSomebodyWaiting) await due.run(log);
    };
    await Promise.race([dialling(), sleepBy(clock, DIALLED_WITHIN_MS)]);
  }

  /** Conflicts and some seconds of trouble are waited for; a try that was carried out is found by the next one. */
  async #create(id: NotificationId, request: NotificationRequest, key: string | undefined): Promise<Created> {
    const { clock, random, newId } = this.#parts;
    const attemptId = newId();
    const now = clock.now();
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#createOnce(id, attemptId, request, key, tried === 1);
      } catch (error) {
        if (error instanceof WriteConflict && tried <= MOST_CONFLICTS) {
          await sleepBy(clock, backoffMs(tried, 20, LONGEST_PAUSE_MS, random));
        } else if (error instanceof StorageTrouble && clock.now() + PAUSE_MS <= now + WRITTEN_WITHIN_MS) {
          await sleepBy(clock, PAUSE_MS);
        } else throw error instanceof WriteConflict ? new StorageTrouble(0, { reason: 'contended' }) : error;
      }
    }
  }

  /** @param isFirst nothing was tried yet. Most keys are new: that is cheaper to find out by inserting */
  async #createOnce(
    id: NotificationId,
    attemptId: string,
    request: NotificationRequest,
    key: string | undefined,
    isFirst: boolean,
  ): Promise<Created> {
    const { store, clock, due } = this.#parts;
    const use = key === undefined ? undefined : keyUse(key, request);
    const found = isFirst ? undefined : await store.load(id);
    if (found !== undefined) return { kind: 'created', stored: found, attemptId };
    const used = isFirst || use === undefined ? {} : await store.readKey(use, clock.now());
    if (used.earlier !== undefined) return { kind: 'key used', earlier: used.earlier };
    const snapshot = await store.look(clock.now());
    const isUrgentOne = isUrgent(request.alertType.name);
    const { policy } = this.#parts;
    const callsLeft = store.callsLeft(snapshot, isUrgentOne);
    const made = newNotification(request, { id, keyHash: use?.keyHash, callsLeft, rules: policy.rules }, clock.now());
    if (made.recipients.every(isFinal)) {
      const earlier = use && (await store.readKey(use, clock.now())).earlier;
      return earlier === undefined ? { kind: 'refused', known: made } : { kind: 'key used', earlier };
    }
    const now = clock.now();
    const own = queueOf(made);
    const open = due.openIn(snapshot, now);
    const decided = next([...snapshot.queue, ...own], open, snapshot.line, now);
    const isOwn = decided.kind === 'dial' && decided.takesOver === undefined && own.includes(decided.who);
    const { case: claimed } = isOwn
      ? step(
          made,
          { index: decided.who.index, attemptId },
          { kind: 'claim', beside: open.length, isProbe: decided.isProbe },
          { policy },
          now,
        )
      : { case: made };
    // An urgent request writes what is known of the lines in any case: a claim that was decided without it is void.
    const { callsPerSecond } = policy.line;
    const claimedLine = isOwn ? withClaim(snapshot.line, decided.isProbe, callsPerSecond, now) : snapshot.line;
    const line = isOwn || isUrgentOne ? claimedLine : undefined;
    const stored = await store.create(claimed, use && { ...use, etag: used.etag }, { snapshot, line }, now);
    return { kind: 'created', stored, attemptId };
  }

  #logDayLimit({ notification, recipients }: NotificationCase, log: Log): void {
    const left = recipients.filter(({ attempts }) => attempts.some(({ reason }) => reason === CALLS_USED_UP)).length;
    if (left === 0) return;
    const until = new Date(endOfDay(this.#parts.clock.now())).toISOString();
    log.error('day limit reached', { notification_id: notification.id, recipients: left, until });
  }

  async #callsOf(numbers: readonly PhoneNumber[], known: NotificationCase): Promise<readonly SentCall[]> {
    const { store, clock } = this.#parts;
    const why = await whyTheyWait(known, store, clock.now());
    return numbers.map((recipient, index) => callOf(recipient, known.recipients[index], why.get(index)));
  }
}

const NOT_YET = 'not dialled yet';

const reasonOf = (call: SentCall | undefined): string | undefined =>
  call === undefined || call.status === 'placed' ? undefined : call.reason;

const OVER: ReadonlySet<Recipient['state'] | undefined> = new Set(['failed', 'not_reached', 'stopped']);

/** The last call, or why there is none. A repeated request finds later states too. */
const callOf = (recipient: PhoneNumber, known: Recipient | undefined, waitsFor: string | undefined): SentCall => {
  const callId = known?.attempts.findLast((attempt) => attempt.callId !== undefined)?.callId;
  if (known?.state !== 'failed' && callId !== undefined) return { recipient, status: 'placed', callId };
  const why = known?.state === 'stopped' ? 'stopped' : (known?.reason ?? known?.attempts.at(-1)?.reason);
  if (OVER.has(known?.state)) return { recipient, status: 'failed', reason: why ?? NOT_YET };
  return { recipient, status: 'waiting', reason: waitsFor ?? why ?? NOT_YET, since: known?.queuedAt };
};
