import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import { isUrgent } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { CALLS_USED_UP, endOfDay } from '../rules/day-limit.ts';
import type { Driver, DriverParts } from './driver.ts';
import type { DueWork } from './due.ts';
import { keyUse } from '../rules/idempotency.ts';
import { newNotification, type NotificationCase } from '../state/notification.ts';
import { newNotificationId, type NotificationId } from '../model/notification-id.ts';
import type { NotificationRequest, Sent, SentCall } from '../model/notification-request.ts';
import type { PhoneNumber } from '../model/phone-number.ts';
import type { Recipient } from '../state/recipient.ts';
import { type Created, untilCommitted } from '../store/notification-store.ts';

/** What sending notifications needs. */
export interface SendingParts extends Pick<DriverParts, 'line' | 'store' | 'rules' | 'clock' | 'random' | 'newId'> {
  readonly driver: Driver;
  readonly due: DueWork;
}

// Some seconds of outage are waited for.
const WRITTEN_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
// The answer to a request does not wait longer for those beyond the first calls.
const DIALLED_WITHIN_MS = 8_000;

/** From a request to the calls: all rows are written first, with their key and the calls that they take of the day's. */
export class Sending {
  readonly #parts: SendingParts;

  constructor(parts: SendingParts) {
    this.#parts = parts;
  }

  /** Writes a notification down and dials its recipients; see `Phone.send`. @throws {StorageTrouble} */
  async send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> {
    const { rules, clock, newId, driver } = this.#parts;
    const { waves, waveMs = 0, alertType } = request;
    if ((waves.length - 1) * waveMs >= rules.deadlineMs) return { kind: 'waves too late' };
    const numbers = waves.flat();
    const id = newNotificationId(clock.now(), newId());
    const created = await this.#create(id, request, key);
    if (created.kind !== 'key used')
      this.#logDayLimit(created.kind === 'created' ? created.stored : created.known, log);
    switch (created.kind) {
      case 'refused': {
        const calls = callsOf(numbers, created.known);
        const fields = { alert_type: alertType.name, recipients: calls.length, reason: reasonOf(calls[0]) };
        log.error('notification refused', fields);
        return { kind: 'refused', calls };
      }
      case 'key used': {
        const { notificationId, fingerprint } = created.earlier;
        if (key === undefined || fingerprint !== keyUse(key, request).fingerprint) {
          return { kind: 'key of another request' };
        }
        const known = await driver.read(notificationId);
        if (known === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id: notificationId, calls: callsOf(numbers, known) };
      }
      case 'created': {
        const { stored } = created;
        const known = (): NotificationCase => driver.recall(id) ?? stored;
        await driver.dialFirst(stored, log);
        if (known().recipients.some(({ state }) => state === 'waiting')) await this.#dialOthers(log);
        return { kind: 'sent', id, calls: callsOf(numbers, known()) };
      }
    }
  }

  /** Some seconds of trouble are waited for; a try that was carried out is found by the next one. */
  async #create(id: NotificationId, request: NotificationRequest, key: string | undefined): Promise<Created> {
    const { store, rules, clock, random, newId } = this.#parts;
    const { alertType, waves, reference, details, confirm, waveMs, confirmationsNeeded, callbackBaseUrl } = request;
    const now = clock.now();
    const use = key === undefined ? undefined : keyUse(key, request);
    const what = { id, alertType: alertType.name, reference, details, createdAt: now };
    const how = { confirm, waveMs, confirmationsNeeded, callbackBaseUrl, keyHash: use?.keyHash };
    const notification = { ...what, ...how };
    const { deadlineMs, allowedPrefixes } = rules;
    const make = (callsLeft: number): NotificationCase =>
      newNotification({ notification, waves, deadlineMs, allowedPrefixes, callsLeft, newId, line: this.#parts.line }, now);
    const create = async () => store.create(id, make, isUrgent(alertType.name), use, now);
    for (;;) {
      try {
        return await untilCommitted(create, { random, sleep: async (ms) => sleepBy(clock, ms) });
      } catch (error) {
        if (!(error instanceof StorageTrouble) || clock.now() + PAUSE_MS > now + WRITTEN_WITHIN_MS) throw error;
        await sleepBy(clock, PAUSE_MS);
      }
    }
  }

  #logDayLimit({ notification, recipients }: NotificationCase, log: Log): void {
    const left = recipients.filter(({ attempts }) => attempts.some(({ reason }) => reason === CALLS_USED_UP)).length;
    if (left === 0) return;
    const until = new Date(endOfDay(this.#parts.clock.now())).toISOString();
    log.error('day limit reached', { notification_id: notification.id, recipients: left, until });
  }

  async #dialOthers(log: Log): Promise<void> {
    const { due, clock } = this.#parts;
    await Promise.race([due.run(log), sleepBy(clock, DIALLED_WITHIN_MS)]);
  }
}

const NOT_YET = 'not dialled yet';

const callsOf = (numbers: readonly PhoneNumber[], { recipients }: NotificationCase): readonly SentCall[] =>
  numbers.map((recipient, index) => callOf(recipient, recipients[index]));

const reasonOf = (call: SentCall | undefined): string | undefined =>
  call === undefined || call.status === 'placed' ? undefined : call.reason;

const OVER: ReadonlySet<Recipient['state'] | undefined> = new Set(['failed', 'not_reached', 'stopped']);

/** The last call, or why there is none. A repeated request finds later states too. */
const callOf = (recipient: PhoneNumber, known: Recipient | undefined): SentCall => {
  const callId = known?.attempts.findLast((attempt) => attempt.callId !== undefined)?.callId;
  if (known?.state !== 'failed' && callId !== undefined) return { recipient, status: 'placed', callId };
  const why = known?.state === 'stopped' ? 'stopped' : (known?.reason ?? known?.attempts.at(-1)?.reason);
  return { recipient, status: OVER.has(known?.state) ? 'failed' : 'waiting', reason: why ?? NOT_YET };
};
