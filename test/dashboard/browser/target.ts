import { dirname } from 'node:path';

import { inject } from 'vitest';

import { believableDay } from '../../../infra/local/demo/day.ts';
import { type App, startApp, testEnvironment } from '../../harness/app.ts';
import { HOSTILE_IDS } from '../stand-in/believable-day.ts';
import type { Frame } from '../stand-in/frames.ts';
import { StandIn } from '../stand-in/service.ts';

/** The running service whose page is tested. */
export interface Target {
  /** Without a slash at its end. */
  readonly url: string;
  /** What the endpoints ask for. */
  readonly key: string;
  /** Sends CloudEvents. */
  send(messages: readonly unknown[]): Promise<void>;
  /** Records frames as a producer does. */
  record(frames: readonly Frame[]): Promise<void>;
  /** What an endpoint answers now: `ask('analytics/day?date=2026-11-21')`. */
  ask(path: string): Promise<unknown>;
  /** Ends the service; its address stays reserved for {@link start}. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends everything, for good. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;

/** The day that is today in the tests, UTC, and the one before. */
export const TODAY = new Date().toISOString().slice(0, 10);
export const YESTERDAY = new Date(Date.parse(TODAY) - DAY_MS).toISOString().slice(0, 10);

/** When a page is opened in the tests, by its own clock: far from midnight, whatever the time is here. Milliseconds since 1970. */
export const NOON = Date.parse(TODAY) + DAY_MS / 2;

const KEY = 'dashboard-test-key';

/** What is special about a service. */
export interface ServiceOptions {
  /** Settings besides those of every test, from the service's own URL. */
  readonly settings?: (url: string) => Readonly<Record<string, string>>;
  /** The days that are filled; yesterday and today until noon where it is not given. */
  readonly days?: readonly string[];
}

/**
 * The real service, on Azurite, with two days of the demo: each camera with a frame every 20 minutes, where the demo has one a minute.
 *
 * @param key undefined: the service asks for none
 */
export const startService = async (
  key: string | undefined,
  { settings = () => ({}), days = [YESTERDAY, TODAY] }: ServiceOptions = {},
): Promise<Target> => {
  const environment = testEnvironment();
  const start = async (port?: number): Promise<App> =>
    startApp({
      environment: (url) => ({ ...environment, ...settings(url) }),
      bundle: 'release',
      ...(key === undefined ? {} : { functionKey: key }),
      ...(port === undefined ? {} : { port }),
    });
  let app = await start();
  const { url } = app;
  const target = targetOf(url, key ?? '', {
    stop: () => app.stop(),
    start: async () => {
      app = await start(Number(new URL(url).port));
    },
    close: () => app.stop(),
  });
  const messages = days.flatMap((date) => believableDay(date, NOON));
  await target.send(messages.filter(({ data }) => new Date(data.ts_utc).getUTCMinutes() % 20 === 0));
  return target;
};

/** The same with a key, and with frames of cameras with hostile ids. */
export const startTarget = async (options: ServiceOptions = {}): Promise<Target> => {
  const target = await startService(KEY, options);
  await target.record(HOSTILE_IDS.map((id, index) => hostileFrame(id, index)));
  return target;
};

/** A frame of a camera with a hostile id, early today, with a category that is not one of the usual ones. */
const hostileFrame = (id: string, index: number): Frame => ({
  event_id: `hostile-${index}`,
  camera_id: id,
  ts_utc: `${TODAY}T00:00:0${index}.000Z`,
  detections: { lightning: 1 },
  reviewed: true,
  annotations: { constructor: 1 },
});

const targetOf = (url: string, key: string, life: Pick<Target, 'stop' | 'start' | 'close'>): Target => {
  const send = async (messages: readonly unknown[]): Promise<void> => {
    for (let from = 0; from < messages.length; from += MOST_A_REQUEST) {
      const response = await fetch(`${url}/api/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/cloudevents-batch+json', 'x-functions-key': key },
        body: JSON.stringify(messages.slice(from, from + MOST_A_REQUEST)),
      });
      if (response.status !== 200) throw new Error(`Recording answered ${response.status}: ${await response.text()}`);
    }
  };
  return {
    url,
    key,
    ...life,
    send,
    record: async (frames) =>
      send(
        frames.map((data) => ({
          specversion: '1.0',
          id: data.event_id,
          source: '/test/dashboard',
          type: 'CameraEvent.Changed',
          time: data.ts_utc,
          data,
        })),
      ),
    ask: async (path) => {
      const response = await fetch(`${url}/api/${path}`, { headers: { 'x-functions-key': key } });
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return response.json();
    },
  };
};

const MOST_A_REQUEST = 5_000;

/** The stand-in itself, for what cannot be made to happen in the service on demand. */
export const startStandIn = async (
  key: string | undefined,
): Promise<{ readonly service: StandIn; readonly close: () => Promise<void> }> => {
  const service = await StandIn.start(key, dirname(inject('bundles').release));
  return { service, close: () => service.stop() };
};
