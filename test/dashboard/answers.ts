import { createHash } from 'node:crypto';

import * as z from 'zod/mini';

import type { Activity, Notification, Recipient } from '../../src/dashboard/browser/model/answers.ts';
import { STEP_MS, STEPS } from '../../src/dashboard/browser/model/steps.ts';

/** The day of all tests, and the time at which they open the page. */
export const TODAY = '2026-11-21';
export const YESTERDAY = '2026-11-20';
export const NOON = Date.parse(`${TODAY}T12:00:00Z`);

/** ISO 8601 */
export const before = (secondsBeforeNoon: number): string => new Date(NOON - secondsBeforeNoon * 1_000).toISOString();

export const person = (lastDigits: string, status: string, rest: Partial<Recipient> = {}): Recipient => ({
  recipient: `+1206•••••${lastDigits}`,
  status,
  attempts: [],
  ...rest,
});

/** A notification; in progress if the test says nothing else. */
export const notification = (id: string, rest: Partial<Notification> = {}): Notification => ({
  notification_id: id,
  alert_type: 'ConfirmedFire',
  created_at: before(60),
  status: 'in_progress',
  recipients: [person('00', 'ringing')],
  ...rest,
});

/** It ended, and reached no recipient. */
export const missed = (id: string, rest: Partial<Notification> = {}): Notification =>
  notification(id, { status: 'completed', recipients: [person('01', 'not_reached')], ...rest });

const NO_ANSWER = { placed_at: before(50), ended_at: before(20), outcome: 'no_answer', reason: 'no answer' };
const STOPPED = { placed_at: before(15), ended_at: before(12), outcome: 'stopped', reason: 'by an operator' };

/** Three recipients in two waves; the first was called twice. */
export const WAVES = [
  person('12', 'waiting', { wave: 2, next_attempt_at: before(-90) }),
  person('10', 'not_reached', {
    name: 'Ana',
    wave: 1,
    attempts: [{ ...NO_ANSWER, code: 480, sub_code: 560_480 }, STOPPED],
  }),
  person('11', 'waiting', {
    name: 'Bo',
    wave: 1,
    reason: 'no line is free',
    since: before(30),
    next_attempt_at: before(-30),
  }),
];

/** An answer of a gateway, or of the service in trouble. */
export const refusal = (status: number, body: object = {}): Response => new Response(JSON.stringify(body), { status });

/** The answers of the service to the page, and its failures. */
export class PageAnswers {
  notifications: readonly Notification[] = [];
  phone: unknown = { usable: true, since: before(3_600), reason: '' };
  /** False: `PHONE=off`. */
  hasPhone = true;
  /** Undefined: the service needs no key. */
  key: string | undefined;
  /** The last frame of each camera, in seconds before noon. */
  lastSeen: Readonly<Record<string, number>> = { 'ridge-1': 60, 'ridge-2': 60 };
  accuracy: object = { categories: { fire: { flagged: 40, confirmed: 3, missed: 2 } }, without: [] };
  /** 0: there is nothing to count. */
  frames = 10;
  /** The frames of the period before; undefined: as many as now. */
  previousFrames: number | undefined;
  categories: readonly string[] = ['fire', 'smoke', 'structure'];
  /** The tag of the page. */
  version = '"1"';
  /** The `Date` header. */
  date: string | undefined;
  /** Answers in place of the service; `hang`: no answer, `away`: a broken connection. */
  instead: (path: string) => Response | 'hang' | 'away' | undefined = () => undefined;
  /** The questions: path and query below `/api/`, and the status of the answer. */
  readonly asked: { path: string; method: string; key: string | null; body: string; status: number }[] = [];

  /** Stands for the browser's `fetch`. */
  readonly fetch = async (url: string, { headers: given, method = 'GET', body, signal }: RequestInit) => {
    const headers = new Headers(given);
    const asked = { path: decodeURIComponent(url.replace('/api/', '')), method, key: headers.get('x-functions-key') };
    const question = { ...asked, body: typeof body === 'string' ? body : '', status: 0 };
    if (question.path === 'dashboard') return new Response('', { headers: { etag: this.version } });
    this.asked.push(question);
    const instead = this.instead(question.path);
    if (instead === 'away') throw new TypeError('Failed to fetch');
    if (instead === 'hang') {
      return new Promise<Response>((_, reject) => {
        signal?.addEventListener('abort', () => reject(new DOMException('ended', 'AbortError')));
      });
    }
    const isRefused = this.key !== undefined && question.key !== this.key;
    const response = instead ?? (isRefused ? refusal(401) : this.#tagged(url, question, headers.get('if-none-match')));
    question.status = response.status;
    return response;
  };

  #tagged(url: string, { method, body }: { method: string; body: string }, known: string | null): Response {
    const [status, answer] = this.#answer(new URL(url, 'http://service'), method, body);
    const text = JSON.stringify(answer);
    const etag = `"${createHash('sha1').update(text).digest('hex')}"`;
    const headers = { etag, ...(this.date !== undefined && { date: this.date }) };
    return known === etag ? new Response(null, { status: 304, headers }) : new Response(text, { status, headers });
  }

  /** Questions whose path begins with this text. */
  askedFor(start: string): readonly string[] {
    return this.asked.map(({ path }) => path).filter((path) => path.startsWith(start));
  }

  #answer({ pathname, searchParams: query }: URL, method: string, body: string): [status: number, answer: unknown] {
    const [, , part = '', id, action] = pathname.split('/').map(decodeURIComponent);
    const limit = Number(query.get('limit') ?? 20);
    if (part === 'analytics') {
      if (id === undefined) return [200, this.#activity(query)];
      if (id === 'series') return [200, this.#series(query)];
      if (id === 'cameras') return [200, action === undefined ? this.#listed(limit) : { cameras: this.#cameras() }];
      return [200, { date: query.get('date'), days: 1, ...this.accuracy }];
    }
    if (!this.hasPhone) return [503, { detail: 'Off.', code: 'phone_off' }];
    if (id === undefined) {
      const isAttention = query.get('attention') === 'true';
      const of = isAttention ? this.notifications.filter(needsAttention) : this.notifications.slice(0, limit);
      return [200, { notifications: of, ...(isAttention && { phone: this.phone }) }];
    }
    this.notifications = this.notifications.map((each) => {
      if (each.notification_id !== id || method !== 'POST') return each;
      const { by } = z.parse(z.object({ by: z.string() }), JSON.parse(body));
      if (action === 'stop') {
        const recipients = each.recipients.map(stopped);
        return { ...each, status: 'stopped', stopped_at: new Date().toISOString(), stopped_by: by, recipients };
      }
      const taken = { acknowledged_by: by, acknowledged_at: new Date().toISOString() };
      return { ...each, ...taken, worsened_since_acknowledged: undefined };
    });
    const found = this.notifications.find((each) => each.notification_id === id);
    return found === undefined ? [404, { detail: 'There is none.', code: 'unknown_notification' }] : [200, found];
  }

  #cameras(): readonly { readonly camera_id: string; readonly last_event_at: string }[] {
    return Object.entries(this.lastSeen).map(([id, seconds]) => ({ camera_id: id, last_event_at: before(seconds) }));
  }

  #counts(total: number): Omit<Activity, 'ts_utc_start' | 'ts_utc_end' | 'active_cameras'> {
    const one = this.frames === 0 ? 0 : 1;
    const all = (of: (index: number) => number) =>
      Object.fromEntries(this.categories.map((category, index) => [category, one * of(index)]));
    return {
      total_events: one * total,
      counts_per_category: all((index) => [total, 2, 0][index] ?? (total + 13 * index) % 97),
      reviewed_total_events: one,
      reviewed_counts_per_category: all((index) => (index === 0 ? 1 : 0)),
      annotated_total_events: one,
      annotated_counts_per_category: all((index) => (index === 0 ? 1 : 0)),
    };
  }

  #activity(query: URLSearchParams): Activity {
    const [start, end] = [query.get('ts_utc_start') ?? '', query.get('ts_utc_end') ?? ''];
    const sending = this.#cameras().filter(({ last_event_at: at }) => at >= start);
    const ids = query.has('active_camera_ids') ? {} : { active_camera_ids: sending.map(({ camera_id: id }) => id) };
    const period = { ts_utc_start: start, ts_utc_end: end, active_cameras: sending.length };
    // The page asks for the period before without ids, and its end is over.
    const isPrevious =
      query.has('active_camera_ids') && Date.parse(end) < NOON - 60_000 && this.previousFrames !== undefined;
    return { ...period, ...ids, ...this.#counts(isPrevious ? (this.previousFrames ?? 0) : this.frames) };
  }

  #series(query: URLSearchParams): object {
    const step = STEPS.find((each) => each === query.get('step')) ?? 'hour';
    const [start, end] = [Date.parse(query.get('ts_utc_start') ?? ''), Date.parse(query.get('ts_utc_end') ?? '')];
    const first = Math.floor(start / STEP_MS[step]) * STEP_MS[step];
    const steps = Array.from({ length: Math.ceil((end - first) / STEP_MS[step]) }, (_, index) => ({
      ts_utc_start: new Date(Math.max(start, first + index * STEP_MS[step])).toISOString(),
      ts_utc_end: new Date(Math.min(end, first + (index + 1) * STEP_MS[step] - 1)).toISOString().replace('Z', '999Z'),
      active_cameras: 1 + (index % 2),
      ...this.#counts(index),
    }));
    return { step, steps };
  }

  #listed(limit: number): object {
    const cameras = this.#cameras().map(({ camera_id }, index) => {
      const accuracy = { flagged: { fire: index * 3, smoke: 0 }, confirmed: { fire: index }, missed: { fire: 1 } };
      return Object.assign(this.#counts(100 - index), accuracy, { camera_id });
    });
    return { date: TODAY, days: 1, total_cameras: cameras.length, cameras: cameras.slice(0, limit) };
  }
}

const needsAttention = ({ status, recipients, confirmations_needed: needed = 1 }: Notification): boolean =>
  status !== 'stopped' && recipients.filter((each) => ['heard', 'confirmed'].includes(each.status)).length < needed;

const stopped = (each: Recipient): Recipient =>
  ['waiting', 'ringing'].includes(each.status) ? { ...each, status: 'stopped' } : each;
