import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { buildDashboard } from '../../../infra/dashboard.ts';
import { believableDay, HOSTILE_IDS } from '../stand-in/believable-day.ts';
import type { Frame } from '../stand-in/frames.ts';
import { StandIn } from '../stand-in/service.ts';

/** The service whose page is tested. */
export interface Target {
  /** Without a slash at its end. */
  readonly url: string;
  /** What the endpoints ask for. */
  readonly key: string;
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

/** The current UTC day and the one before. */
export const TODAY = new Date().toISOString().slice(0, 10);
export const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

const KEY = 'dashboard-test-key';

/** The page of a service with two days of activity, of usual cameras and of cameras with hostile ids. */
export const startTarget = async (): Promise<Target> => {
  const { service, close } = await startStandIn(KEY);
  const target = targetOf(
    service.url,
    KEY,
    () => service.stop(),
    () => service.start(),
    close,
  );
  await target.record([
    ...believableDay(YESTERDAY, { cameras: 20, frames: 1_500, until: Number.POSITIVE_INFINITY, seed: 1 }),
    ...believableDay(TODAY, { cameras: 20, frames: 1_500, until: Date.now(), seed: 2 }),
    ...HOSTILE_IDS.map((id, index) => hostileFrame(id, index)),
  ]);
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

const targetOf = (
  url: string,
  key: string,
  stop: () => Promise<void>,
  start: () => Promise<void>,
  close: () => Promise<void>,
): Target => ({
  url,
  key,
  stop,
  start,
  close,
  record: async (frames) => {
    const events = frames.map((data) => ({
      specversion: '1.0',
      id: data.event_id,
      source: '/test/dashboard',
      type: 'CameraEvent.Changed',
      time: data.ts_utc,
      data,
    }));
    const response = await fetch(`${url}/api/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents-batch+json', 'x-functions-key': key },
      body: JSON.stringify(events),
    });
    if (response.status !== 200) throw new Error(`Recording answered ${response.status}: ${await response.text()}`);
  },
  ask: async (path) => {
    const response = await fetch(`${url}/api/${path}`, { headers: { 'x-functions-key': key } });
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  },
});

/** The stand-in itself, for what cannot be made to happen in the service on demand. */
export const startStandIn = async (
  key: string | undefined,
): Promise<{ readonly service: StandIn; readonly close: () => Promise<void> }> => {
  const directory = await mkdtemp(join(tmpdir(), 'dashboard-'));
  await buildDashboard(directory);
  const service = await StandIn.start(key, directory);
  return {
    service,
    close: async () => {
      await service.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
};
