import * as z from 'zod/mini';

import type { Activity, Notification, Recipient } from '../../../src/dashboard/browser/model/answers.ts';
import { STEP_MS, STEPS } from '../../../src/dashboard/browser/model/steps.ts';

/** When a page is opened; milliseconds since 1970, as every time here. */
export const NOON = Date.parse('2026-11-21T12:00:00Z');

/** ISO 8601, so many seconds before noon. */
export const before = (seconds: number): string => new Date(NOON - seconds * 1_000).toISOString();

/** A person of a notification. */
export const person = (lastDigits: string, status: string, rest: Partial<Recipient> = {}): Recipient => ({
  recipient: `+1206•••••${lastDigits}`,
  status,
  attempts: [],
  ...rest,
});

/** A notification; in progress where nothing else is said. */
export const notification = (id: string, rest: Partial<Notification> = {}): Notification => ({
  notification_id: id,
  alert_type: 'ConfirmedFire',
  created_at: before(60),
  status: 'in_progress',
  reached: (rest.recipients ?? []).filter(({ status }) => status === 'heard' || status === 'confirmed').length,
  recipients: [person('00', 'ringing')],
  ...rest,
});

/** It ended, and somebody was not reached. */
export const missed = (id: string, rest: Partial<Notification> = {}): Notification =>
  notification(id, { status: 'completed', recipients: [person('01', 'not_reached')], ...rest });

const counts = (total: number) => ({
  total_events: total,
  counts_per_category: { fire: total, smoke: 2, structure: 0 },
  reviewed_total_events: 1,
  reviewed_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
  annotated_total_events: 1,
  annotated_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
});

/** What the service answers to each question, and what stands in its way. */
export class PageAnswers {
  notifications: readonly Notification[] = [];
  phone: unknown = { usable: true, since: before(3_600), reason: '' };
  /** False: the service was started with `PHONE=off`. */
  hasPhone = true;
  /** Undefined: it demands none. */
  key: string | undefined;
  /** When each known camera last sent, in seconds before noon. */
  lastSeen: Readonly<Record<string, number>> = { 'ridge-1': 60, 'ridge-2': 60 };
  accuracy: unknown = { fire: { flagged: 40, confirmed: 3, missed: 2 } };
  without: readonly string[] = [];
  frames = 10;
  /** The `Date` of the answers; undefined: they have none. */
  date: string | undefined;
  /** Answers in place of the service; `hang`: nothing answers, `away`: the connection is broken. */
  instead: (path: string) => Response | 'hang' | 'away' | undefined = () => undefined;
  /** Path and query of what was asked below `/api/`, and how. */
  readonly asked: {
    readonly path: string;
    readonly method: string;
    readonly key: string | null;
    readonly body: string;
  }[] = [];

  /** Stands for the browser's `fetch`. */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const path = decodeURIComponent(url.replace('/api/', ''));
    const headers = new Headers(init.headers);
    const key = headers.get('x-functions-key');
    const { method = 'GET', body } = init;
    this.asked.push({ path, method, key, body: typeof body === 'string' ? body : '' });
    const instead = this.instead(path);
    if (instead === 'away') throw new TypeError('Failed to fetch');
    if (instead === 'hang') {
      return new Promise((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(new DOMException('ended', 'AbortError')));
      });
    }
    if (instead !== undefined) return instead;
    if (this.key !== undefined && key !== this.key) return new Response('', { status: 401 });
    const [status, answer] = this.#answer(path, method, typeof body === 'string' ? body : '');
    const text = JSON.stringify(answer);
    const etag = `"${text.length}-${text}"`.replaceAll(/[^\w"-]/g, '');
    const isKnown = status === 200 && headers.get('if-none-match') === etag;
    return new Response(isKnown ? null : text, {
      status: isKnown ? 304 : status,
      headers: { etag, ...(this.date !== undefined && { date: this.date }) },
    });
  };

  /** Questions whose path begins so. */
  askedFor(start: string): readonly string[] {
    return this.asked.map(({ path }) => path).filter((path) => path.startsWith(start));
  }

  #answer(path: string, method: string, body: string): [status: number, answer: unknown] {
    const url = new URL(path, 'http://service/');
    const query = url.searchParams;
    const limit = Number(query.get('limit') ?? 20);
    switch (url.pathname) {
      case '/analytics':
        return [200, this.#activity(query)];
      case '/analytics/series':
        return [200, this.#series(query)];
      case '/analytics/accuracy':
        return [200, { date: query.get('date'), days: 1, categories: this.accuracy, without: this.without }];
      case '/analytics/cameras/last-seen':
        return [200, { cameras: this.#cameras().map(({ id, at }) => ({ camera_id: id, last_event_at: at })) }];
      case '/analytics/cameras':
        return [200, this.#listed(limit)];
    }
    if (!this.hasPhone) return [503, { detail: 'Off.', code: 'phone_off' }];
    if (url.pathname === '/notifications') {
      const isAttention = query.get('attention') === 'true';
      const of = isAttention ? this.notifications.filter(needsAttention) : this.notifications.slice(0, limit);
      return [200, { notifications: of, ...(isAttention && { phone: this.phone }) }];
    }
    const [id, action] = url.pathname.split('/').slice(2).map(decodeURIComponent);
    this.notifications = this.notifications.map((each) => {
      if (each.notification_id !== id || method !== 'POST') return each;
      if (action === 'stop') return { ...each, status: 'stopped', recipients: each.recipients.map(stopped) };
      const { by } = z.parse(z.object({ by: z.string() }), JSON.parse(body));
      return {
        ...each,
        acknowledged_by: by,
        acknowledged_at: new Date().toISOString(),
        worsened_since_acknowledged: undefined,
      };
    });
    const found = this.notifications.find((each) => each.notification_id === id);
    return found === undefined ? [404, { detail: 'There is none.' }] : [200, found];
  }

  #cameras(): readonly { readonly id: string; readonly at: string }[] {
    return Object.entries(this.lastSeen).map(([id, seconds]) => ({ id, at: before(seconds) }));
  }

  #activity(query: URLSearchParams): Activity {
    const [start, end] = [query.get('ts_utc_start') ?? '', query.get('ts_utc_end') ?? ''];
    const sending = this.#cameras().filter(({ at }) => at >= start);
    const ids = query.has('active_camera_ids') ? {} : { active_camera_ids: sending.map(({ id }) => id) };
    return { ts_utc_start: start, ts_utc_end: end, active_cameras: sending.length, ...ids, ...counts(this.frames) };
  }

  #series(query: URLSearchParams): object {
    const step = STEPS.find((each) => each === query.get('step')) ?? 'hour';
    const [start, end] = [Date.parse(query.get('ts_utc_start') ?? ''), Date.parse(query.get('ts_utc_end') ?? '')];
    const first = Math.floor(start / STEP_MS[step]) * STEP_MS[step];
    const steps = Array.from({ length: Math.ceil((end - first) / STEP_MS[step]) }, (_, index) => ({
      ts_utc_start: new Date(Math.max(start, first + index * STEP_MS[step])).toISOString(),
      ts_utc_end: new Date(Math.min(end, first + (index + 1) * STEP_MS[step] - 1)).toISOString(),
      active_cameras: 1 + (index % 2),
      ...counts(index),
    }));
    return { step, steps };
  }

  #listed(limit: number): object {
    const cameras = this.#cameras().map(({ id }, index) => {
      const accuracy = { flagged: { fire: index * 3, smoke: 0 }, confirmed: { fire: index }, missed: { fire: 1 } };
      return Object.assign(counts(100 - index), accuracy, { camera_id: id });
    });
    return { date: '2026-11-21', days: 1, total_cameras: cameras.length, cameras: cameras.slice(0, limit) };
  }
}

const needsAttention = ({ status, recipients }: Notification): boolean =>
  status === 'in_progress' || (status === 'completed' && recipients.some((each) => each.status === 'not_reached'));

const stopped = (each: Recipient): Recipient =>
  ['waiting', 'ringing'].includes(each.status) ? { ...each, status: 'stopped' } : each;

/** An answer of something between the page and the service, or of the service in trouble. */
export const refusal = (status: number, body: object = {}): Response => new Response(JSON.stringify(body), { status });
